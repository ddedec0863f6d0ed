//! What command lines of the compiler driver and the launcher ask for.

use std::path::{Path, PathBuf};

use towpath_charmc::driver::{CharmrunCommand, Compilation, Installation, compilation, launch};

fn installed() -> Installation {
    Installation { prefix: PathBuf::from("/opt/towpath") }
}

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

fn compiled(line: &str) -> Compilation {
    compilation(&words(line), &installed()).unwrap()
}

fn launched(line: &str) -> CharmrunCommand {
    launch(&words(line), &installed()).unwrap()
}

#[test]
fn an_installation_is_found_from_its_program() {
    let program = Path::new("/opt/towpath/bin/towpath-charmc");
    assert_eq!(Installation::of(program), installed());
}

#[test]
fn interface_files_are_translated() {
    let asked = compiled("hello.ci other.ci");
    assert_eq!(asked.interfaces, ["hello.ci", "other.ci"]);
    assert!(asked.compiler.is_empty());
}

#[test]
fn programs_are_compiled_and_linked() {
    let asked = compiled("-language charm++ -tracemode none -O2 -g -DX=1 -I dir -o prog prog.C");
    let expected = "-std=c++17 -O2 -g -DX=1 -I dir -o prog prog.C -I. \
                    -I/opt/towpath/include/towpath/charm++ -L/opt/towpath/lib -ltowpath_actors \
                    -Wl,-rpath,/opt/towpath/lib -Wl,--push-state,--no-as-needed \
                    -l:libtowpath-malloc.so -Wl,--pop-state";
    assert_eq!(asked.compiler, words(expected));
    assert!(asked.remarks.is_empty());
}

#[test]
fn objects_are_compiled_without_linking() {
    let asked = compiled("-c -std=c++20 prog.C x.ci -module CommonLBs -optimize -verbose");
    let expected = "-c -std=c++20 prog.C -O2 -I. -I/opt/towpath/include/towpath/charm++";
    assert_eq!(asked.compiler, words(expected));
    assert_eq!(asked.interfaces, ["x.ci"]);
    assert_eq!(asked.remarks.len(), 1);
    assert!(asked.remarks[0].contains("-module CommonLBs"));
    assert!(asked.is_verbose);
}

#[test]
fn missing_words_files_and_libraries_are_said() {
    let refused = |line| compilation(&words(line), &installed()).unwrap_err();
    assert!(refused("-o").contains("-o"));
    assert!(refused("-O2").contains("no file"));
    let sentence = "The library CkLoop of Charm++ does not exist here: do without its module.";
    assert_eq!(refused("-O2 a.C -module CkLoop"), sentence);
}

#[test]
fn jobs_get_their_ranks() {
    for line in ["+p4 ./a 7 x", "++p 4 ./a 7 x", "./a +p4 ++local 7 +setcpuaffinity x"] {
        let asked = launched(line);
        assert_eq!(asked.mpiexec, Path::new("/opt/towpath/bin/mpiexec"));
        assert_eq!(asked.arguments, words("-n 4 ./a 7 x"), "{line}");
        assert!(asked.remarks.is_empty());
    }
    assert_eq!(launched("./a").arguments, words("-n 1 ./a"));
}

#[test]
fn other_options_are_named() {
    let asked = launched("+p2 +pemap 0-1 +LBPeriod 3 +isomalloc_sync ./a 1 ++ppn 1");
    assert_eq!(asked.arguments, words("-n 2 ./a 1"));
    let expected = ["+pemap 0-1", "+LBPeriod 3", "+isomalloc_sync"];
    assert_eq!(asked.remarks, expected.map(|option| format!("{option} is ignored.")));
    let remark = "-balancer GreedyLB is ignored: run the program with +balancer GreedyLB.";
    assert_eq!(compiled("-balancer GreedyLB a.C").remarks, [remark]);
    let asked = launched("+p2 +traceroot /tmp ./a 10 +LBDump 2 ++server-port 1234");
    assert_eq!(asked.arguments, words("-n 2 ./a 10"));
}

#[test]
fn wrong_numbers_are_refused() {
    let refused = |line| launch(&words(line), &installed()).unwrap_err();
    assert!(refused("+p0 ./a").contains("+p0"));
    assert!(refused("+p 99999999999 ./a").contains("99999999999"));
    assert!(refused("+ppn2 ./a").contains("process of its own"));
    assert!(refused("+p2").contains("no program"));
    assert!(refused("./a +p").contains("missing"));
}

#[test]
fn balancers_and_restarts_are_for_the_program() {
    let asked = launched("+balancer GreedyLB +p2 ./a 1 +restart log 2");
    assert_eq!(asked.arguments, words("-n 2 ./a 1 2 +balancer GreedyLB +restart log"));
    assert!(asked.remarks.is_empty());
    let refused = launch(&words("./a +restart"), &installed()).unwrap_err();
    assert!(refused.contains("missing after +restart"));
}
