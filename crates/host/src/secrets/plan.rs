//! Plans without their secrets: as they are recorded and shown. What is launched is the plan as the file says it.

use bystander_lab::plan::{Plan, Template};
use indexmap::IndexMap;

use super::Masker;

impl Masker {
    /// A plan with the secrets in its commands and variables masked.
    #[must_use]
    pub fn plan(&self, plan: &Plan) -> Plan {
        let mut plan = plan.clone();
        self.words(&mut plan.program.command);
        self.variables(&mut plan.program.env);
        if let Some(check) = plan.program.ready.as_mut().and_then(|ready| ready.command.as_mut()) {
            self.words(&mut check.command);
        }
        for level in plan.factors.values_mut().flat_map(IndexMap::values_mut) {
            self.words(&mut level.args);
            self.variables(&mut level.env);
        }
        if let Some(workload) = &mut plan.workload {
            self.words(&mut workload.command);
        }
        let hooks = &mut plan.hooks;
        for commands in [&mut hooks.setup, &mut hooks.prepare, &mut hooks.conclude, &mut hooks.cleanup] {
            commands.iter_mut().for_each(|command| self.words(&mut command.argv));
        }
        plan
    }

    fn words(&self, words: &mut [Template]) {
        let masked = self.command(&words.iter().map(|word| word.0.clone()).collect::<Vec<_>>());
        words.iter_mut().zip(masked).for_each(|(word, masked)| word.0 = masked);
    }

    fn variables(&self, variables: &mut IndexMap<String, Template>) {
        for (name, value) in variables {
            value.0 = self.variable(name, &value.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Masker;

    #[test]
    fn nothing_secret_is_left_in_a_plan_and_everything_else_stays() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let file = dir.path().join("x.toml");
        let text = r#"
[program]
command = ["serve", "--api-key", "sk-command", "--port", "{port}"]
env = { HF_TOKEN = "sk-variable", MODE = "fast" }
ready = { log = "ready", command = ["ask", "--token", "sk-ready"] }
[workload]
command = ["load", "--token=sk-workload"]
[hooks]
setup = [["log-in", "--password", "sk-hook"]]
[factors.level]
one = { args = ["--password", "sk-level"] }
two = { env = { DB_PASSWORD = "sk-of-two" } }
[plan]
baseline = { level = "one" }
"#;
        std::fs::write(&file, text).expect("written");
        let plan = bystander_lab::spec::read(&file).expect("a good file").plan;
        let masked = Masker::forgotten().expect("random bytes").plan(&plan);
        let shown = serde_json::to_string(&masked).expect("serialises");
        assert!(!shown.contains("sk-") && shown.contains("<hidden:") && shown.contains("{port}") && shown.contains("fast"), "{shown}");
        assert_eq!((masked.cells, masked.program.command.len()), (plan.cells, 5));
    }
}
