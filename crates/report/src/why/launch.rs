//! With what the program was launched: the first launch in full, since what others differ in is told elsewhere.

use bystander_model::provenance::Provenance;
use bystander_model::report::TrialReport;

use crate::page::Page;
use crate::place::place;
use crate::prose::{clean, count};

pub(crate) fn write(page: &mut Page<'_>, trials: &[TrialReport]) {
    let Some((trial, provenance)) = trials.iter().find_map(|trial| Some((trial, trial.provenance.as_ref()?))) else { return };
    page.heading(&format!("Launched (trial {}; show --diff A B has what two launches differ in)", trial.id));
    let mut line = |name: &str, text: &str| page.led(&format!("  {name}: "), None, 4, text);
    line("command", &clean(&provenance.command.join(" ")));
    line("in", &clean(&provenance.cwd.to_string_lossy()));
    line("git", &git(provenance));
    for (file, sha256) in &provenance.files {
        line("as loaded", &format!("{} sha256 {}", clean(&file.to_string_lossy()), clean(sha256)));
    }
    if let Some(python) = &provenance.python {
        let packages = count(python.packages.len(), "package", "packages");
        line("Python", &format!("{} {}, {packages}", clean(&python.version), clean(&python.executable.to_string_lossy())));
    }
    line("kernel", &clean(&provenance.kernel));
    let gpus: Vec<String> = provenance.gpus.iter().map(|gpu| clean(gpu)).collect();
    line("GPUs", &if gpus.is_empty() { "no NVIDIA driver".to_owned() } else { gpus.join(", ") });
    line("environment", &format!("{} (show --json --why has them and the packages)", count(provenance.env.len(), "variable", "variables")));
    if let Some(configuration) = &trial.configuration {
        line("printed configuration", &format!("{}: {}", place(configuration), clean(&configuration.text)));
    }
}

fn git(provenance: &Provenance) -> String {
    match &provenance.git {
        Some(git) => format!("{}{}", clean(&git.commit), if git.dirty { " with changes" } else { "" }),
        None => "not in a work tree".to_owned(),
    }
}
