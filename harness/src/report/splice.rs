//! Parts of a document that a command writes: what stands between two markers is replaced, the rest is kept.
//!
//! ```text
//! <!-- harness:report NAME -->
//! ... replaced ...
//! <!-- /harness:report NAME -->
//! ```

use std::fs;
use std::io::Write;
use std::path::Path;

use crate::error::Error;
use crate::journal::replace;

/// The text of a document with what stands between the markers of `name` replaced.
pub fn spliced(document: &str, name: &str, text: &str) -> Result<String, String> {
    let (begin, end) =
        (format!("<!-- harness:report {name} -->"), format!("<!-- /harness:report {name} -->"));
    let marker = |marker: &str| match document.matches(marker).count() {
        1 => Ok(document.find(marker).unwrap_or_default()),
        0 => Err(format!("it has no line `{marker}`")),
        more => Err(format!("it has `{marker}` {more} times")),
    };
    let (from, to) = (marker(&begin)? + begin.len(), marker(&end)?);
    if to < from {
        return Err(format!("`{end}` stands before `{begin}`"));
    }
    Ok(format!("{}\n{}\n{}", &document[..from], text.trim_matches('\n'), &document[to..]))
}

/// Splices a text into a file, whole or not at all.
pub fn splice(path: &Path, name: &str, text: &str) -> Result<(), Error> {
    let document = fs::read_to_string(path).map_err(|error| Error::file("read", path, &error))?;
    let document = spliced(&document, name, text).map_err(|what| {
        Error::failed(format!("{}: {what}", path.display())).mend(format!(
            "mark the place with `<!-- harness:report {name} -->` and `<!-- /harness:report {name} -->`, each once on a line of its own"
        ))
    })?;
    replace(path, |file| {
        file.write_all(document.as_bytes()).map_err(|error| Error::file("write", path, &error))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = "# A\n<!-- harness:report x -->\nold\n<!-- /harness:report x -->\nB\n";

    #[test]
    fn what_is_between_the_markers_is_replaced_and_twice_is_as_once() {
        let once = spliced(DOCUMENT, "x", "new\n").unwrap();
        assert_eq!(once, "# A\n<!-- harness:report x -->\nnew\n<!-- /harness:report x -->\nB\n");
        assert_eq!(spliced(&once, "x", "new").unwrap(), once);
    }

    #[test]
    fn missing_and_doubled_markers_are_named() {
        assert!(spliced(DOCUMENT, "y", "").unwrap_err().contains("no line `<!-- harness:report y -->`"));
        let doubled = format!("{DOCUMENT}{DOCUMENT}");
        assert!(spliced(&doubled, "x", "").unwrap_err().contains("2 times"));
        let turned = "<!-- /harness:report x -->\n<!-- harness:report x -->";
        assert!(spliced(turned, "x", "").unwrap_err().contains("stands before"));
    }
}
