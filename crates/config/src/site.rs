//! Configuration files for Ozone's clients.

use quick_xml::escape::escape;

/// Renders an `ozone-site.xml` with these settings, in their order.
pub fn site_xml<'a>(settings: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut text = String::from("<configuration>\n");
    for (name, value) in settings {
        let (name, value) = (escape(name), escape(value));
        text += &format!("  <property><name>{name}</name><value>{value}</value></property>\n");
    }
    text + "</configuration>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("ozone-site.xml");
        let settings = [("ozone.om.service.ids", "a<b&\"c"), ("ozone.om.nodes.x", "om1,om2")];
        std::fs::write(&file, site_xml(settings)).unwrap();
        let conf = crate::Configuration::builder().file(&file).unwrap().build().unwrap();
        for (name, value) in settings {
            assert_eq!(conf.raw(name), Some(value));
        }
    }
}
