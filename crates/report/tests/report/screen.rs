//! What a person sees, at two widths, without colour.

use bystander_report::{Style, text, why};
use insta::assert_snapshot;

use crate::{fixed, story};

fn wide(width: usize) -> Style {
    Style { width, ..Style::default() }
}

#[test]
fn the_story_fits_one_screen_of_120_columns() {
    let screen = text(&story::report(), &wide(120));
    assert!(screen.lines().count() <= 50, "{} lines", screen.lines().count());
    assert_snapshot!(screen, @r#"
    Does the custom all-reduce make the server run out of memory?
    Finished: 1 of 10 blocks, 7 launches, order seed 1, run story-20261129-140501-9f3c. Every cell of the first block failed
    with one signature: more launches cannot answer the question.

    Answers
      allreduce: baseline broken (shown). Nothing can be blamed on custom: the baseline fails without it (nccl/none failed
        in 1 of 1); custom/none fails in the same way. Whether custom would break a baseline that works is not known.
        [trials 2, 6 stderr:41]
      print: not needed (shown). print is not needed for this failure: nccl/none fails in trial 2 as nccl/print does in
        trial 5, with the same signature. That print has no effect at all is another claim, and is not made.
        [trials 2, 5 stderr:41]
      kv-budget: not needed (shown). kv-budget is not needed for this failure: nccl/none fails in trial 2 as nccl/kv-budget
        does in trial 3, with the same signature. That kv-budget has no effect at all is another claim, and is not made.
        [trials 2, 3 stderr:41]
      “the print broke the baseline”: refuted (shown). Refuted by trial 2: it predicts that nccl/none is completed, and
        trial 2 failed. One counterexample is enough. [trial 2 stderr:41]

    Cells
      allreduce  instrument  outcome        cause
      nccl       none        failed 1 of 1  memory.fraction_below_weights ×1
      nccl       print       failed 1 of 1  memory.fraction_below_weights ×1
      nccl       kv-budget   failed 1 of 1  memory.fraction_below_weights ×1
      custom     none        failed 1 of 1  memory.fraction_below_weights ×1
      custom     print       failed 1 of 1  memory.fraction_below_weights ×1
      custom     kv-budget   failed 1 of 1  memory.fraction_below_weights ×1
      One signature in all 7 failures: RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.
        Current value: self.server_args.mem_fraction_static=0.55 [trial 1 stderr:41]

    Captured by kv-budget at engine/sizing.py:42 in profile_max_num_token
      nccl/kv-budget and custom/kv-budget, trials 3, 4, 8 ranks alike: available_gpu_memory = 21.697, total_gpu_memory =
        93.999, self.mem_fraction_static = 0.55, rest_memory = −20.6025

    Why there is no KV cache: rest = 21.697 − 93.999 × (1 − 0.55) = −20.603 GiB
      Only a fraction above 0.769179 leaves room for a KV cache; it is 0.55. The static fraction covers weights and KV
        cache together. The weights take 72.302 of 93.999 GiB, so a fraction of 0.55 leaves less than nothing for the KV
        cache. What is left over is for everything else.
      Tokens at other fractions: 0.8 → 44,268, 0.88 → 159,171. Seen in every cell (trials 1–7); formula of sglang
        0.5.7–0.5.9, read from rank 0. [trial 3 kv-budget/pid 812/0]

    Files
      Every file is as before, byte for byte and in its metadata. 2 edits in 1 file, made and undone. The bare baseline
        after the last undo (trial 7) behaved as before. /srv/examples/engine/engine/sizing.py: sha256 3f2a91c07d5b before
        and now.

    To know more
      - allreduce: a baseline that starts: mend its own failure first, then run the 6 cells again (24 launches)
      - `stop = "all"` in [plan] runs every block all the same (54 launches)
      - every trial with its evidence: bystander show story-20261129-140501-9f3c --why; logs:
        runs/story-20261129-140501-9f3c/trial-* in the state directory
    "#);
}

#[test]
fn the_story_in_80_columns() {
    let screen = text(&story::report(), &wide(80));
    assert_snapshot!(screen, @r#"
    Does the custom all-reduce make the server run out of memory?
    Finished: 1 of 10 blocks, 7 launches, order seed 1, run
    story-20261129-140501-9f3c. Every cell of the first block failed with one
    signature: more launches cannot answer the question.

    Answers
      allreduce: baseline broken (shown). Nothing can be blamed on custom: the
        baseline fails without it (nccl/none failed in 1 of 1); custom/none fails in
        the same way. Whether custom would break a baseline that works is not known.
        [trials 2, 6 stderr:41]
      print: not needed (shown). print is not needed for this failure: nccl/none
        fails in trial 2 as nccl/print does in trial 5, with the same signature.
        That print has no effect at all is another claim, and is not made.
        [trials 2, 5 stderr:41]
      kv-budget: not needed (shown). kv-budget is not needed for this failure:
        nccl/none fails in trial 2 as nccl/kv-budget does in trial 3, with the same
        signature. That kv-budget has no effect at all is another claim, and is not
        made. [trials 2, 3 stderr:41]
      “the print broke the baseline”: refuted (shown). Refuted by trial 2: it
        predicts that nccl/none is completed, and trial 2 failed. One counterexample
        is enough. [trial 2 stderr:41]

    Cells
      allreduce  instrument  outcome        cause
      nccl       none        failed 1 of 1  memory.fraction_below_weights ×1
      nccl       print       failed 1 of 1  memory.fraction_below_weights ×1
      nccl       kv-budget   failed 1 of 1  memory.fraction_below_weights ×1
      custom     none        failed 1 of 1  memory.fraction_below_weights ×1
      custom     print       failed 1 of 1  memory.fraction_below_weights ×1
      custom     kv-budget   failed 1 of 1  memory.fraction_below_weights ×1
      One signature in all 7 failures: RuntimeError: Not enough memory. Please try
        to increase --mem-fraction-static. Current value:
        self.server_args.mem_fraction_static=0.55 [trial 1 stderr:41]

    Captured by kv-budget at engine/sizing.py:42 in profile_max_num_token
      nccl/kv-budget and custom/kv-budget, trials 3, 4, 8 ranks alike:
        available_gpu_memory = 21.697, total_gpu_memory = 93.999,
        self.mem_fraction_static = 0.55, rest_memory = −20.6025

    Why there is no KV cache: rest = 21.697 − 93.999 × (1 − 0.55) = −20.603 GiB
      Only a fraction above 0.769179 leaves room for a KV cache; it is 0.55. The
        static fraction covers weights and KV cache together. The weights take
        72.302 of 93.999 GiB, so a fraction of 0.55 leaves less than nothing for the
        KV cache. …
      Tokens at other fractions: 0.8 → 44,268, 0.88 → 159,171. Seen in every cell
        (trials 1–7); formula of sglang 0.5.7–0.5.9, read from rank 0.
        [trial 3 kv-budget/pid 812/0]

    Files
      Every file is as before, byte for byte and in its metadata. 2 edits in 1 file,
        made and undone. The bare baseline after the last undo (trial 7) behaved as
        before. /srv/examples/engine/engine/sizing.py: sha256 3f2a91c07d5b before
        and now.

    To know more
      - allreduce: a baseline that starts: mend its own failure first, then run the
        6 cells again (24 launches)
      - `stop = "all"` in [plan] runs every block all the same (54 launches)
      - every trial with its evidence:
        bystander show story-20261129-140501-9f3c --why; logs:
        runs/story-20261129-140501-9f3c/trial-* in the state directory
    "#);
}

#[test]
fn the_mended_experiment_in_120_columns() {
    let screen = text(&fixed::report(), &wide(120));
    assert!(screen.lines().count() <= 50, "{} lines", screen.lines().count());
    assert_snapshot!(screen, @r#"
    What does the custom all-reduce cost and gain on a server that starts?
    Finished: 5 of 5 blocks, 20 launches, order seed 1, run fixed-20261129-151500-00a1. Every planned block was run.

    Answers
      allreduce: insufficient. No failure in 5 launches of custom/none nor of nccl/none. A failure rate up to 45 % is not
        excluded. [formula 1 - 0.05^(1/n)]
      kv-budget: no effect seen (consistent). No perturbation seen: no failure in 5 launches with it and 5 launches without
        it. A failure rate up to 45 % is not excluded. [formula 1 - 0.05^(1/n)]

    Cells
      allreduce  instrument  outcome           kv_tokens (median)  tpot_ms (median)
      nccl       none        completed 5 of 5  152,797             9.66
      nccl       kv-budget   completed 5 of 5  152,797             9.664
      custom     none        completed 5 of 5  149,806             7.05
      custom     kv-budget   completed 5 of 5  149,806             7.054

    Effects on metrics
      kv_tokens: mean difference within blocks, 95 % (t)
        allreduce: effect (shown). An effect: −2991 tokens, identical in 5 launches. [trials 1, 3 stderr:28]
        kv-budget: inert (shown). Inert within 100 tokens: identical in 5 launches. [trials 1, 3 stderr:28]
      tpot_ms: geometric mean of ratios within blocks, 95 % (t on logarithms)
        allreduce: effect (shown). An effect: −27.0 % [−27.4 % to −26.6 %] in 5 launches per cell. [trials 1, 3 stderr:28]
        kv-budget: inert (shown). Inert within 2 %: +0.0 % [−0.1 % to +0.2 %] in 5 launches per cell.
          [trials 1, 3 stderr:28]

    Files
      Bystander changed no file on disk.

    To know more
      - kv-budget: more blocks, 29 launches per cell in all (96 launches)
      - every trial with its evidence: bystander show fixed-20261129-151500-00a1 --why; logs:
        runs/fixed-20261129-151500-00a1/trial-* in the state directory
    "#);
}

#[test]
fn the_mended_experiment_in_80_columns() {
    assert_snapshot!(text(&fixed::report(), &wide(80)), @r#"
    What does the custom all-reduce cost and gain on a server that starts?
    Finished: 5 of 5 blocks, 20 launches, order seed 1, run
    fixed-20261129-151500-00a1. Every planned block was run.

    Answers
      allreduce: insufficient. No failure in 5 launches of custom/none nor of
        nccl/none. A failure rate up to 45 % is not excluded.
        [formula 1 - 0.05^(1/n)]
      kv-budget: no effect seen (consistent). No perturbation seen: no failure in 5
        launches with it and 5 launches without it. A failure rate up to 45 % is not
        excluded. [formula 1 - 0.05^(1/n)]

    Cells
      allreduce  instrument  outcome           kv_tokens (median)  tpot_ms (median)
      nccl       none        completed 5 of 5  152,797             9.66
      nccl       kv-budget   completed 5 of 5  152,797             9.664
      custom     none        completed 5 of 5  149,806             7.05
      custom     kv-budget   completed 5 of 5  149,806             7.054

    Effects on metrics
      kv_tokens: mean difference within blocks, 95 % (t)
        allreduce: effect (shown). An effect: −2991 tokens, identical in 5 launches.
          [trials 1, 3 stderr:28]
        kv-budget: inert (shown). Inert within 100 tokens: identical in 5 launches.
          [trials 1, 3 stderr:28]
      tpot_ms: geometric mean of ratios within blocks, 95 % (t on logarithms)
        allreduce: effect (shown). An effect: −27.0 % [−27.4 % to −26.6 %] in 5
          launches per cell. [trials 1, 3 stderr:28]
        kv-budget: inert (shown). Inert within 2 %: +0.0 % [−0.1 % to +0.2 %] in 5
          launches per cell. [trials 1, 3 stderr:28]

    Files
      Bystander changed no file on disk.

    To know more
      - kv-budget: more blocks, 29 launches per cell in all (96 launches)
      - every trial with its evidence:
        bystander show fixed-20261129-151500-00a1 --why; logs:
        runs/fixed-20261129-151500-00a1/trial-* in the state directory
    "#);
}

#[test]
fn a_run_that_was_broken_off_says_what_is_wrong_first() {
    assert_snapshot!(text(&fixed::broken_off(), &wide(100)), @r#"
    What does the custom all-reduce cost and gain on a server that starts?
    Broken off: 0 of 5 blocks, 2 launches, order seed 1, run fixed-20261129-151500-00a1. The disk is
    full.
    Not only the levels differ: custom/none: PYTHONHASHSEED is 0, in the baseline it is not set

    Answers
      None yet: nothing was compared.

    Cells
      allreduce  instrument  outcome
      nccl       none        completed 1 of 1
      nccl       kv-budget   no data, void 1
      custom     none        no data
      custom     kv-budget   no data

    Files
      NOT every file is as before. The program or others changed what is named below, and it was left as
        they made it. 3 edits in 3 files, made and undone.
        /srv/engine/sizing.py: DIFFERS: sha256 aaaa0000aaaa before, bbbb1111bbbb now, 1 edit undone
        /srv/engine/gone.py: GONE; was sha256 aaaa0000aaaa, 1 edit undone
        /srv/engine/mode.py: sha256 aaaa0000aaaa before and now, but its mode, owner or times DIFFER, 1
          edit undone
        /srv/engine/a.py: sha256 aaaa0000aaaa before and now

    Also
      - trial 2 is void: process 77 (nvidia-smi) held 3 GiB before the start

    To know more
      - kv-budget: more blocks, 29 launches per cell in all (96 launches)
      - every trial with its evidence: bystander show fixed-20261129-151500-00a1 --why; logs:
        runs/fixed-20261129-151500-00a1/trial-* in the state directory
    "#);
}

#[test]
fn the_long_form_of_the_story() {
    let mut report = story::report();
    report.trials.truncate(3);
    report.captures.truncate(2);
    report.trials[2].receipts.truncate(2);
    assert_snapshot!(why(&report, &wide(120)), @r#"
    Does the custom all-reduce make the server run out of memory?
    run story-20261129-140501-9f3c of /srv/examples/engine/story.toml: finished
    every cell of the first block failed with one signature: more launches cannot answer the question

    Plan
      1 of 10 blocks done, 6 cells, 60 launches if every block is run, order seed 1
      - allreduce=custom: an outcome that always differs is shown after 4 blocks (Fisher, level 0.0500, looked at after
        every block)

    Answers
      allreduce: baseline broken (shown). Nothing can be blamed on custom: the baseline fails without it (nccl/none failed
        in 1 of 1); custom/none fails in the same way. Whether custom would break a baseline that works is not known.
        counted: trials 2, 6
        trial 2 stderr:41: RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value:
          self.server_args.mem_fraction_static=0.55
        trial 6 stderr:41: RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value:
          self.server_args.mem_fraction_static=0.55
        needs: 4 launches per cell in all
        needs: a baseline that starts: mend its own failure first, then run the 6 cells again
      print: not needed (shown). print is not needed for this failure: nccl/none fails in trial 2 as nccl/print does in
        trial 5, with the same signature. That print has no effect at all is another claim, and is not made.
        counted: trials 2, 5
        trial 2 stderr:41: RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value:
          self.server_args.mem_fraction_static=0.55
        trial 5 stderr:41: RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value:
          self.server_args.mem_fraction_static=0.55
      kv-budget: not needed (shown). kv-budget is not needed for this failure: nccl/none fails in trial 2 as nccl/kv-budget
        does in trial 3, with the same signature. That kv-budget has no effect at all is another claim, and is not made.
        counted: trials 2, 3
        trial 2 stderr:41: RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value:
          self.server_args.mem_fraction_static=0.55
        trial 3 stderr:41: RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value:
          self.server_args.mem_fraction_static=0.55
      “the print broke the baseline”: refuted (shown). Refuted by trial 2: it predicts that nccl/none is completed, and
        trial 2 failed. One counterexample is enough.
        counted: trial 2
        trial 2 stderr:41: RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value:
          self.server_args.mem_fraction_static=0.55

    Cells
      allreduce  instrument  outcome        cause
      nccl       none        failed 1 of 1  memory.fraction_below_weights ×1
      nccl       print       failed 1 of 1  memory.fraction_below_weights ×1
      nccl       kv-budget   failed 1 of 1  memory.fraction_below_weights ×1
      custom     none        failed 1 of 1  memory.fraction_below_weights ×1
      custom     print       failed 1 of 1  memory.fraction_below_weights ×1
      custom     kv-budget   failed 1 of 1  memory.fraction_below_weights ×1
      One signature in all 3 failures: RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.
        Current value: self.server_args.mem_fraction_static=0.55 [trial 1 stderr:41]

    Why there is no KV cache
      rest = 21.697 − 93.999 × (1 − 0.55) = −20.603 GiB
      Only a fraction above 0.769179 leaves room for a KV cache; it is 0.55.
      total 93.999 GiB
      available 21.697 GiB
      rest −20.6026 GiB
      bytes per token and rank 70,272, tokens −314,803
      The static fraction covers weights and KV cache together.
      The weights take 72.302 of 93.999 GiB, so a fraction of 0.55 leaves less than nothing for the KV cache.
      What is left over is for everything else.
      at 0.8: rest 2.897 GiB, 44,268 tokens, 18.8 GiB left for everything else
      at 0.88: rest 10.417 GiB, 159,171 tokens, 11.28 GiB left for everything else
      trial 3 kv-budget/pid 812/0: available_gpu_memory = 21.697, total_gpu_memory = 93.999
      version from: stderr:3 names its arguments so
      not modelled: graph capture, which comes after this check
      Seen in every cell (trials 1–7); formula of sglang 0.5.7–0.5.9, read from rank 0.

    Captured values
      kv-budget nccl/kv-budget trial 3 rank 0 pid 812, hit 1 of 1 at engine/sizing.py:42 in profile_max_num_token:
        available_gpu_memory = 21.697, total_gpu_memory = 93.999, self.mem_fraction_static = 0.55, rest_memory = −20.6025
      kv-budget nccl/kv-budget trial 3 rank 1 pid 813, hit 1 of 1 at engine/sizing.py:42 in profile_max_num_token:
        available_gpu_memory = 21.697, total_gpu_memory = 93.999, self.mem_fraction_static = 0.55, rest_memory = −20.6025

    Launched (trial 1; show --diff A B has what two launches differ in)
      command: python3 -m engine --port 30001
      in: /srv/engine
      git: 9f3c2a with changes
      as loaded: /srv/engine/sizing.py sha256 77aa
      Python: 3.11.7 /usr/bin/python3, 1 package
      kernel: 6.1.0
      GPUs: no NVIDIA driver
      environment: 1 variable (show --json --why has them and the packages)
      printed configuration: trial 1 stderr:2: server_args=ServerArgs(mem_fraction_static=0.55)

    Trial 1 (block 1): custom/print failed in 1.4 s
      memory.fraction_below_weights: RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current
        value: self.server_args.mem_fraction_static=0.55
        signature: RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.
        trial 1 stderr:41: RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value:
          self.server_args.mem_fraction_static=0.55
      trial 1 exit: exit status 1
      stdout: runs/story-20261129-140501-9f3c/trial-1/stdout.log
      stderr: runs/story-20261129-140501-9f3c/trial-1/stderr.log

    Trial 2 (block 1): nccl/none failed in 1.4 s
      memory.fraction_below_weights: RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current
        value: self.server_args.mem_fraction_static=0.55
        signature: RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.
        trial 2 stderr:41: RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value:
          self.server_args.mem_fraction_static=0.55
      trial 2 exit: exit status 1
      stdout: runs/story-20261129-140501-9f3c/trial-2/stdout.log
      stderr: runs/story-20261129-140501-9f3c/trial-2/stderr.log

    Trial 3 (block 1): nccl/kv-budget failed in 1.4 s
      memory.fraction_below_weights: RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current
        value: self.server_args.mem_fraction_static=0.55
        signature: RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.
        trial 3 stderr:41: RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value:
          self.server_args.mem_fraction_static=0.55
      trial 3 exit: exit status 1
      kv-budget in pid 812 rank 0: armed, 1 hit; after line 42; Python 3.11.7
      kv-budget in pid 813 rank 1: armed, 1 hit; after line 42; Python 3.11.7
      stdout: runs/story-20261129-140501-9f3c/trial-3/stdout.log
      stderr: runs/story-20261129-140501-9f3c/trial-3/stderr.log

    Files
      Every file is as before, byte for byte and in its metadata. 2 edits in 1 file, made and undone. The bare baseline
        after the last undo (trial 7) behaved as before. /srv/examples/engine/engine/sizing.py: sha256
        3f2a91c07d5be4418f0c2a6d9b7e5f1340c8a2d6e9f1b3c5d7e9f0a1b2c3d4e5 before and now.

    To know more
      - allreduce: a baseline that starts: mend its own failure first, then run the 6 cells again (24 launches)
      - `stop = "all"` in [plan] runs every block all the same (54 launches)
    "#);
}
