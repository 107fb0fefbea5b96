//! Deprecated names of keys work.

use config::keys::{datanode, scm};
use config::renamed::RENAMED;
use config::{Configuration, Warning};

use crate::{variables, with_site};

#[test]
fn an_old_name_is_the_key_under_its_new_one() {
    let (dir, builder) =
        with_site(&[("ozone.datanode.pipeline.limit", "7"), ("dfs.container.ipc", "1234")]);
    let conf = builder.build().unwrap();
    assert_eq!(conf.get(&scm::OZONE_SCM_DATANODE_PIPELINE_LIMIT), 7);
    assert_eq!(conf.get(&datanode::HDDS_CONTAINER_IPC_PORT), 1234);
    let place = dir.path().join("ozone-site.xml");
    let warnings: Vec<String> = conf.warnings().iter().map(ToString::to_string).collect();
    let told = |line, old: &str, new: &str| {
        format!("{}:{line}: {old} is deprecated: instead, use {new}", place.display())
    };
    assert_eq!(
        warnings,
        [
            told(3, "dfs.container.ipc", "hdds.container.ipc.port"),
            told(2, "ozone.datanode.pipeline.limit", "ozone.scm.datanode.pipeline.limit"),
        ]
    );
    let entry = conf.entry("ozone.datanode.pipeline.limit").unwrap();
    assert_eq!(entry.key, "ozone.scm.datanode.pipeline.limit");
    assert_eq!(entry.given_as.as_deref(), Some("ozone.datanode.pipeline.limit"));
}

#[test]
fn the_later_one_counts_whatever_its_name() {
    let both = [("ozone.datanode.pipeline.limit", "7"), ("ozone.scm.datanode.pipeline.limit", "8")];
    for (lines, expected) in [([both[0], both[1]], 8), ([both[1], both[0]], 7)] {
        let (_dir, builder) = with_site(&lines);
        let conf = builder.build().unwrap();
        assert_eq!(conf.get(&scm::OZONE_SCM_DATANODE_PIPELINE_LIMIT), expected);
        assert_eq!(conf.warnings().len(), usize::from(expected == 7));
    }
    let (_dir, builder) = with_site(&both);
    let builder = builder.define("ozone.datanode.pipeline.limit=9").unwrap();
    assert_eq!(builder.build().unwrap().get(&scm::OZONE_SCM_DATANODE_PIPELINE_LIMIT), 9);
}

#[test]
fn old_names_work_in_the_environment_and_in_substitutions() {
    let builder = Configuration::builder()
        .env_from(variables(&[("DFS_DATANODE_HOSTNAME", "host1")]))
        .define("hdds.datanode.dir=/data/${dfs.datanode.hostname}")
        .unwrap();
    let conf = builder.build().unwrap();
    assert_eq!(conf.get(&datanode::HDDS_DATANODE_HOSTNAME), "host1");
    let dirs = conf.get(&datanode::HDDS_DATANODE_DIR);
    assert_eq!(dirs[0].path, std::path::Path::new("/data/host1"));
    let derived = Configuration::default().with("dfs.datanode.hostname", "host2");
    assert_eq!(derived.get(&datanode::HDDS_DATANODE_HOSTNAME), "host2");
}

#[test]
fn a_malformed_value_under_an_old_name_is_refused() {
    let builder = Configuration::builder().define("dfs.container.ipc=port").unwrap();
    assert!(builder.build().is_err());
}

#[test]
fn an_old_name_of_a_key_that_is_not_there_has_no_effect_and_says_so() {
    let conf =
        Configuration::builder().define("dfs.metrics.session-id=x").unwrap().build().unwrap();
    let [Warning::Renamed { current, .. }, Warning::WithoutEffect { key, .. }] = conf.warnings()
    else {
        panic!("{:?}", conf.warnings());
    };
    assert_eq!(
        (current.as_str(), key.as_str()),
        ("hdds.metrics.session-id", "hdds.metrics.session-id")
    );
}

#[test]
fn no_new_name_is_an_old_one() {
    for (old, new) in RENAMED {
        assert!(RENAMED.iter().all(|(other, _)| other != new), "{new} was renamed again");
        assert_eq!(RENAMED.iter().filter(|(other, _)| other == old).count(), 1, "{old}");
    }
}
