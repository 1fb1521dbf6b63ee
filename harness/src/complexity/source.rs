//! Which files the code of a structure is in.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::{Attribute, File, Item, UseTree, Visibility};

use crate::error::Error;
use crate::machine;

/// The sources of `impls`.
#[derive(Clone, Debug)]
pub struct Sources {
    folder: PathBuf,
    /// Name and module of every structure, from the registry.
    registry: Vec<(String, String)>,
    /// Modules that `lib.rs` keeps to itself: what structures share.
    private: BTreeSet<String>,
}

/// Whose code it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// The structure's.
    Own,
    /// Of a private module that several structures use.
    Shared(String),
}

/// A file of source.
pub(super) struct Source {
    /// From `impls/src` on.
    pub(super) name: String,
    /// Its text.
    pub(super) text: String,
    /// Its syntax tree.
    pub(super) tree: File,
}

impl Sources {
    /// The sources in the clone at `folder`, or in the one that this executable or the current folder lies in.
    pub fn find(folder: Option<&Path>) -> Result<Self, Error> {
        let folder = folder.map(Path::to_owned).or_else(machine::clone_folder).ok_or_else(|| {
            Error::failed(
                "the sources are not found: neither this executable nor the current folder lies in a clone",
            )
            .mend("name the clone with --source DIR")
        })?;
        Self::below(&folder.join("impls/src"))
    }

    /// The sources in the folder of a crate's `lib.rs`.
    fn below(folder: &Path) -> Result<Self, Error> {
        let lib = read(folder, "lib.rs")?;
        let mut registry = Vec::new();
        for item in &lib.tree.items {
            if let Item::Macro(item) = item {
                entries(item.mac.tokens.clone(), &mut registry);
            }
        }
        let private = |item: &Item| match item {
            Item::Mod(module) if matches!(module.vis, Visibility::Inherited) => {
                Some(module.ident.to_string())
            }
            _ => None,
        };
        let private = lib.tree.items.iter().filter_map(private).collect();
        Ok(Self { folder: folder.to_owned(), registry, private })
    }

    /// Where they lie.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The files of a structure: its own, and those of each private module that these use.
    pub(super) fn parts(&self, structure: &str) -> Result<Vec<(Part, Vec<Source>)>, Error> {
        let (_, module) = self.registry.iter().find(|(name, _)| name == structure).ok_or_else(|| {
            let lib = self.folder.join("lib.rs");
            Error::failed(format!("{}: the registry has no `{structure}`", lib.display()))
                .mend("these are the sources of another version: name another clone with --source DIR")
        })?;
        let own = self.module(module)?;
        let used: BTreeSet<String> = own.iter().flat_map(|file| used(&file.tree)).collect();
        let mut parts = vec![(Part::Own, own)];
        for shared in used.intersection(&self.private) {
            parts.push((Part::Shared(shared.clone()), self.module(shared)?));
        }
        Ok(parts)
    }

    /// A module's file, and those of the modules in it; what only tests have is left out.
    fn module(&self, module: &str) -> Result<Vec<Source>, Error> {
        let flat = format!("{module}.rs");
        let name = if self.folder.join(&flat).is_file() { flat } else { format!("{module}/mod.rs") };
        let file = read(&self.folder, &name)?;
        let below = |item: &Item| match item {
            Item::Mod(below) if below.content.is_none() && !is_for_tests(&below.attrs) => {
                Some(format!("{module}/{}", below.ident))
            }
            _ => None,
        };
        let below: Vec<_> = file.tree.items.iter().filter_map(below).collect();
        let mut files = vec![file];
        for module in below {
            files.extend(self.module(&module)?);
        }
        Ok(files)
    }
}

fn read(folder: &Path, name: &str) -> Result<Source, Error> {
    let path = folder.join(name);
    let text = fs::read_to_string(&path).map_err(|error| {
        Error::file("read", &path, &error).mend("name a clone of the repository with --source DIR")
    })?;
    let tree = syn::parse_file(&text).map_err(|error| {
        let at = error.span().start();
        Error::failed(format!("{}:{}:{}: {error}", path.display(), at.line, at.column + 1))
    })?;
    Ok(Source { name: name.to_owned(), text, tree })
}

/// Finds `"name" => module::Type {` in the tokens of the registry's macro, at any depth.
fn entries(tokens: TokenStream, found: &mut Vec<(String, String)>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for token in &tokens {
        if let TokenTree::Group(group) = token {
            entries(group.stream(), found);
        }
    }
    for window in tokens.windows(8) {
        let [TokenTree::Literal(name), rest @ .., TokenTree::Ident(_), TokenTree::Group(body)] = window
        else {
            continue;
        };
        let [arrow @ .., TokenTree::Ident(module), TokenTree::Punct(_), TokenTree::Punct(_)] = rest else {
            continue;
        };
        let is_arrow = arrow.iter().map(ToString::to_string).collect::<String>() == "=>";
        if is_arrow && body.delimiter() == Delimiter::Brace {
            found.push((name.to_string().trim_matches('"').to_owned(), module.to_string()));
        }
    }
}

/// Modules of the crate that a file uses.
fn used(tree: &File) -> Vec<String> {
    let of = |item: &Item| match item {
        Item::Use(item) => match &item.tree {
            UseTree::Path(root) if root.ident == "crate" => match &*root.tree {
                UseTree::Path(module) => Some(module.ident.to_string()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    };
    tree.items.iter().filter_map(of).collect()
}

/// Whether something is there for tests alone: `#[cfg(test)]`, or the feature `testing`.
pub(super) fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::List(list) if list.path.is_ident("cfg") => {
            let condition = list.tokens.to_string();
            condition == "test" || condition.replace(' ', "") == "feature=\"testing\""
        }
        _ => false,
    })
}

#[cfg(test)]
pub(super) fn made_up(text: &str) -> Source {
    Source { name: "made_up.rs".into(), text: text.into(), tree: syn::parse_file(text).unwrap() }
}
