use proptest::prelude::*;

use super::*;

const FILE: &str = include_str!("testing/cluster.toml");

fn cluster() -> NetworkTopology {
    NetworkTopology::parse(FILE).unwrap()
}

fn figure<T>(value: T, origin: FigureOrigin) -> Figure<T> {
    Figure { value, origin }
}

#[test]
fn links_have_the_files_figures_and_defaults() {
    let (file, default) = (FigureOrigin::File, FigureOrigin::Default);
    let topology = cluster();
    let phi = topology.link("phi0");
    assert_eq!(phi.rate, figure(12_500_000, file));
    assert_eq!(phi.latency, figure(40_000, file));
    assert_eq!(phi.half_duplex, figure(true, file));
    // Stated for all hosts by [default], and by nobody.
    let usual = topology.link("n3");
    assert_eq!(usual, topology.link("stranger"));
    assert_eq!(usual, topology.usual_link());
    assert_eq!(usual.rate, figure(1_250_000_000, file));
    assert_eq!(usual.latency, figure(DEFAULT_LATENCY, default));
    assert_eq!(usual.half_duplex, figure(false, default));
    assert_eq!(NetworkTopology::default().link("n3").rate, figure(DEFAULT_RATE, default));
}

#[test]
fn what_a_system_reports_counts_where_nobody_states_a_rate() {
    let reported = Some(125_000_000);
    let topology = cluster();
    assert_eq!(topology.link("phi0").or_reported(reported), topology.link("phi0"));
    let unknown = NetworkTopology::default().link("n3");
    assert_eq!(unknown.or_reported(None), unknown);
    let known = unknown.or_reported(reported);
    assert_eq!(known.rate, figure(125_000_000, FigureOrigin::System));
    assert_eq!(known.latency, unknown.latency);
    let path = topology.path_over(("phi0", topology.link("phi0")), ("x", known)).unwrap();
    assert_eq!(path.rate, figure(12_500_000, FigureOrigin::File));
}

#[test]
fn a_measured_file_is_the_origin_of_its_figures() {
    let topology = cluster().measured();
    assert_eq!(topology.link("phi0").rate, figure(12_500_000, FigureOrigin::Measured));
    assert_eq!(topology.leads("phi0"), figure(false, FigureOrigin::Measured));
    assert_eq!(topology.usual_link().latency, figure(DEFAULT_LATENCY, FigureOrigin::Default));
}

#[test]
fn hosts_lead_unless_the_file_says_otherwise() {
    let topology = cluster();
    assert_eq!(topology.leads("phi0.example.org"), figure(false, FigureOrigin::File));
    assert_eq!(topology.leads("n0"), figure(true, FigureOrigin::Default));
    assert_eq!(topology.processor("PHI1"), figure(0.1, FigureOrigin::File));
    assert_eq!(topology.processor("n0"), figure(1.0, FigureOrigin::Default));
    assert_eq!(topology.known_name("PHI1.example.org"), Some("phi1"));
    assert_eq!(topology.known_name("phi2"), None);
}

#[test]
fn groups_nest() {
    let topology = cluster();
    let names = |groups: &mut dyn Iterator<Item = GroupNumber>| {
        groups.map(|group| topology.group_name(group).to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&mut topology.inside(None)), ["site", "elsewhere"]);
    let site = topology.inside(None).next().unwrap();
    assert_eq!(names(&mut topology.inside(Some(site))), ["rack1", "rack2"]);
    assert_eq!(topology.members(site).collect::<Vec<_>>(), ["login"]);
    assert_eq!(names(&mut topology.around("n1")), ["rack1", "site"]);
    assert_eq!(names(&mut topology.around("login")), ["site"]);
    assert_eq!(names(&mut topology.around("stranger")), [""; 0]);
    let common = |one, other| topology.common_group(one, other).map(|g| topology.group_name(g));
    assert_eq!(common("n0", "n1"), Some("rack1"));
    assert_eq!(common("n0", "n2"), Some("site"));
    assert_eq!(common("n0", "login"), Some("site"));
    assert_eq!(common("n0", "far0"), None);
    assert_eq!(common("n0", "stranger"), None);
}

#[test]
fn a_path_is_as_narrow_as_its_narrowest_part_and_as_long_as_all() {
    let (file, default) = (FigureOrigin::File, FigureOrigin::Default);
    let topology = cluster();
    assert_eq!(topology.path("n0", "N0.example.org"), None);
    let within_rack = topology.path("n0", "n1").unwrap();
    assert_eq!(within_rack.rate, figure(1_250_000_000, file));
    assert_eq!(within_rack.latency, figure(2 * DEFAULT_LATENCY, default));
    // Both uplinks of the racks; rack2 states no latency.
    let between_racks = topology.path("n0", "n2").unwrap();
    assert_eq!(between_racks.rate, figure(500_000_000, file));
    assert_eq!(between_racks.latency, figure(2 * DEFAULT_LATENCY + 5_000, default));
    assert!(!between_racks.half_duplex.value);
    // n0, rack1, site, elsewhere, phi0.
    let far = topology.path("n0", "phi0").unwrap();
    assert_eq!(far.rate, figure(12_500_000, file));
    assert_eq!(
        far.latency,
        figure(DEFAULT_LATENCY + 5_000 + 10_000_000 + 3_000_000 + 40_000, default)
    );
    assert_eq!(far.half_duplex, figure(true, file));
    assert_eq!(topology.path("phi0", "n0"), Some(far));
    // The link of phi1 is stated as a whole.
    assert_eq!(topology.path("phi0", "phi1").unwrap().latency, figure(80_000, file));
    // Without uplinks: a host outside all groups.
    assert_eq!(topology.path("s", "t").unwrap().rate, figure(1_250_000_000, file));
}

#[test]
fn what_several_tables_say_of_a_host_is_united() {
    let text = "[[link]]\nhosts = 'a, b'\nrate = '1MB'\n[[link]]\nhosts = 'a'\nlatency = '1us'\n\
                [[host]]\nhosts = 'a'\nleads = false\n[[host]]\nhosts = 'a'\nprocessor = 2\n";
    let topology = NetworkTopology::parse(text).unwrap();
    let link = topology.link("a");
    assert_eq!((link.rate.value, link.latency.value), (1_000_000, 1000));
    assert_eq!((topology.leads("a").value, topology.processor("a").value), (false, 2.0));
    assert_eq!(topology.link("b").latency.origin, FigureOrigin::Default);
    assert_eq!(topology.hosts().collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn a_host_may_be_named_by_the_groups_around_its_own_too() {
    let text = "[[group]]\nname = 'all'\nhosts = 'a,b'\ngroups = ['inner']\n\
                [[group]]\nname = 'inner'\nhosts = 'a'\n";
    let topology = NetworkTopology::parse(text).unwrap();
    assert_eq!(topology.around("a").collect::<Vec<_>>(), [1, 0]);
    assert_eq!(topology.members(0).collect::<Vec<_>>(), ["b"]);
}

#[test]
fn mistakes_are_sentences_with_their_line() {
    for (text, line, part) in [
        ("rate = '1MB'", 1, "no table rate"),
        ("\n[[links]]\nhosts = 'a'", 2, "no table links: did you mean link?"),
        ("\n[link]\nhosts = 'a'", 2, "written [[link]]"),
        ("[[default]]\nrate = '1MB'", 1, "written [default]"),
        ("[default]\nhosts = 'a'", 2, "[default] has no key hosts"),
        ("[[link]]\nhosts = 'a'\nrat = '1MB'", 3, "[[link]] has no key rat: did you mean rate?"),
        ("[[link]]\nrate = '1MB'", 1, "needs the key hosts"),
        ("[[link]]\nhosts = ['a']", 2, "must be a text such as"),
        ("[[link]]\nhosts = 'a'\nrate = 5", 3, "rate of [[link]] must be a text such as"),
        ("[[link]]\nhosts = 'a'\nrate = '1Gb'", 3, "rate '1Gb' of [[link]] has no unit of a rate"),
        ("[[link]]\nhosts = 'a'\nrate = '0MB'", 3, "out of range"),
        ("[[link]]\nhosts = 'a'\nrate = '-1MB'", 3, "out of range"),
        ("[[link]]\nhosts = 'a'\nlatency = '4'", 3, "no unit of time"),
        ("[[link]]\nhosts = 'a'\nhalf_duplex = 1", 3, "must be true or false"),
        ("[[link]]\nhosts = 'n[3-1]'", 2, "hosts 'n[3-1]' of [[link]] is not a list"),
        ("[[link]]\nhosts = ''", 2, "is not a list"),
        ("[[link]]\nhosts = 'n]'", 2, "is not a list"),
        ("[[host]]\nhosts = 'n[0-70000]'", 2, "is not a list"),
        ("[[host]]\nhosts = 'a'\nprocessor = 0", 3, "a number from 0.001 to 1000"),
        ("[[host]]\nhosts = 'a'\nprocessor = -1.5", 3, "a number from 0.001 to 1000"),
        ("[[host]]\nhosts = 'a'\nprocessor = nan", 3, "a number from 0.001 to 1000"),
        ("[[host]]\nhosts = 'a'\nprocessor = '1'", 3, "a number from 0.001 to 1000"),
        ("[[host]]\nhosts = 'a'\nleader = true", 3, "did you mean leads?"),
        (
            "[[link]]\nhosts = 'n[0-3]'\nrate = '1MB'\n[[link]]\nhosts = 'n3'\nrate = '2MB'",
            4,
            "rate of host n3 differs from what line 3 says",
        ),
        (
            "[[host]]\nhosts = 'a'\nleads = true\n[[host]]\nhosts = 'a.b'\nleads = false",
            4,
            "leads of host a differs from what line 3 says",
        ),
        ("[[group]]\nhosts = 'a'", 1, "needs the key name"),
        ("[[group]]\nname = 'r'", 1, "group r has neither hosts nor groups"),
        (
            "[[group]]\nname = 'r'\nhosts = 'a'\n[[group]]\nname = 'r'\nhosts = 'b'",
            4,
            "group r is in line 1 already",
        ),
        (
            "[[group]]\nname = 'r'\nhosts = 'a'\n[[group]]\nname = 's'\nhosts = 'b,a'",
            4,
            "host a is in group s and in group r of line 1, and neither contains the other",
        ),
        ("[[group]]\nname = 'r'\ngroups = ['r']", 3, "group r contains itself"),
        (
            "[[group]]\nname = 'r'\ngroups = ['s']\n[[group]]\nname = 's'\ngroups = ['r']",
            6,
            "group r contains itself",
        ),
        ("[[group]]\nname = 'rack'\ngroups = ['rak']", 3, "no group rak: did you mean rack?"),
        ("[[group]]\nname = 'rack'\ngroups = ['x']", 3, "no group x: there are rack."),
        ("[[group]]\nname = 'r'\nhosts = 'a'\ngroups = 's'", 4, "must be a list of texts"),
        (
            "[[group]]\nname='r'\nhosts='a'\n[[group]]\nname='s'\ngroups=['r']\n[[group]]\n\
             name='t'\ngroups=['r']",
            9,
            "group r is in two groups, s and t",
        ),
        ("[[link]]\nhosts = 'a\n", 2, "not TOML"),
        ("a = 1\na = 2", 2, "not TOML"),
    ] {
        let error = NetworkTopology::parse(text).unwrap_err();
        let said = error.to_string();
        assert!(said.contains(part), "{text}: {said}");
        assert!(said.starts_with(&format!("topology file line {line}: ")), "{text}: {said}");
        assert!(said.ends_with(['.', '?']), "{text}: {said}");
        assert_eq!(error.line(), line);
    }
}

#[test]
fn a_sentence_lists_few_names() {
    let groups = (0..9).map(|n| format!("[[group]]\nname = 'rack{n}'\nhosts = 'a{n}'\n"));
    let text = groups.collect::<String>() + "[[group]]\nname = 'site'\ngroups = ['unknown']\n";
    let said = NetworkTopology::parse(&text).unwrap_err().to_string();
    assert!(said.ends_with("rack6, rack7 and others."), "{said}");
}

#[test]
fn a_file_has_a_limit() {
    let long = "# much\n".repeat(LONGEST / 7);
    assert_eq!(NetworkTopology::parse(&long), Ok(NetworkTopology::default()));
    let said = NetworkTopology::parse(&(long + "# more\n")).unwrap_err().to_string();
    assert!(said.contains("bytes"), "{said}");
    let many = "[[host]]\nhosts = 'n[0-60000]'\n".repeat(5);
    let said = NetworkTopology::parse(&many).unwrap_err().to_string();
    assert!(said.starts_with("topology file line 10: ") && said.contains("262144"), "{said}");
}

/// What may stand in a line of a file, right or wrong.
fn lines() -> impl Strategy<Value = String> {
    let key = prop::sample::select(vec![
        "hosts",
        "name",
        "groups",
        "rate",
        "latency",
        "half_duplex",
        "leads",
        "processor",
        "link",
    ]);
    let value = prop_oneof![
        "\"[abn0-9,.\\[\\]-]{0,12}\"",
        "\"[0-9.]{0,3}(k|M|G|Gi)?(bit|B|us|s)?\"",
        "\\[('[abc]'(, )?){0,3}\\]",
        "-?[0-9_.]{1,4}",
        "true|false|nan|inf",
    ];
    prop_oneof![
        prop::sample::select(vec!["[[link]]", "[[group]]", "[[host]]", "[default]", "[link]", ""])
            .prop_map(str::to_owned),
        (key, value).prop_map(|(key, value)| format!("{key} = {value}")),
        "name = '[abc]'",
        "hosts = '[ab][0-9]?'",
    ]
}

proptest! {
    #[test]
    fn no_text_panics(text in any::<String>()) {
        let _ = NetworkTopology::parse(&text);
    }

    #[test]
    fn no_file_panics_and_what_is_accepted_has_positive_rates(
        lines in prop::collection::vec(lines(), 0..30),
    ) {
        let text = lines.join("\n");
        match NetworkTopology::parse(&text) {
            Err(error) => {
                prop_assert!(error.line() >= 1 && error.line() <= lines.len().max(1));
            }
            Ok(topology) => {
                prop_assert_eq!(NetworkTopology::parse(&text), Ok(topology.clone()));
                let hosts: Vec<&str> = topology.hosts().take(9).chain(["stranger"]).collect();
                for one in &hosts {
                    for other in &hosts {
                        let path = topology.path(one, other);
                        prop_assert_eq!(path, topology.path(other, one));
                        prop_assert!(path.is_none_or(|path| path.rate.value > 0));
                    }
                }
            }
        }
    }
}

#[test]
fn the_example_of_the_documentation_is_valid() {
    let page = include_str!("../../../docs/topology-file.md");
    let examples: Vec<NetworkTopology> = page
        .split("```toml\n")
        .skip(1)
        .map(|example| NetworkTopology::parse(example.split_once("```").unwrap().0).unwrap())
        .collect();
    let [links, levels] = &examples[..] else { panic!("{} examples", examples.len()) };
    let path = links.path("n00", "phi1").unwrap();
    assert_eq!(path.rate, figure(12_500_000, FigureOrigin::File));
    assert_eq!(links.path("n00", "other").unwrap().latency.value, 10_045_000);
    assert!(levels.levels("n31").is_some());
}

#[test]
fn levels_are_those_of_the_host_or_the_usual_ones() {
    let text = "[default]\nlevels = 'package 2; core 4'\n[[host]]\nhosts = 'a,b'\n\
                levels = 'tile 6x4; core 2; ranks 0-47'\n";
    let topology = NetworkTopology::parse(text).unwrap();
    let levels = |host| topology.levels(host).map(ToString::to_string);
    assert_eq!(levels("a").as_deref(), Some("tile 6x4; core 2"));
    assert_eq!(levels("stranger").as_deref(), Some("package 2; core 4"));
    assert!(topology.states_levels() && !NetworkTopology::default().states_levels());
    let wrong = NetworkTopology::parse("[[host]]\nhosts = 'a'\nlevels = 'core 0'\n").unwrap_err();
    assert!(wrong.to_string().contains("line 3: levels 'core 0' of [[host]] is no"), "{wrong}");
    let differ =
        "[[host]]\nhosts = 'a'\nlevels = 'core 2'\n[[host]]\nhosts = 'a'\nlevels = 'core 3'\n";
    let differ = NetworkTopology::parse(differ).unwrap_err().to_string();
    assert!(differ.contains("levels of host a differs from what line 3 says"), "{differ}");
}
