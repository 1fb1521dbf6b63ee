//! Counting in the syntax tree.

use std::collections::BTreeSet;
use std::ops::AddAssign;
use std::str::FromStr;

use proc_macro2::{TokenStream, TokenTree};
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{
    Arm, BinOp, Block, Expr, Fields, ImplItem, Item, ItemImpl, ItemTrait, Macro, Signature, Stmt, Token,
    TraitItem,
};

use super::source::{Source, is_for_tests};
use super::{Field, Function};

/// What a function consists of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Statements of every block, its closing expression among them, and match arms that are no block.
    pub statements: u64,
    /// `if` (also `else if`, `if let`), `let else`, arms of a `match` beyond the first, guards of arms, `while`,
    /// `for`, `loop`, `?`, `&&`, `||`, and `matches!`.
    pub branches: u64,
    /// `a[i]` and `a[i..j]`, and calls of `get`, `get_mut`, `get_unchecked`, `get_unchecked_mut` and `swap` on
    /// anything but `self`.
    pub index_operations: u64,
    /// Lines from `fn` to the closing brace that hold more than a comment.
    pub lines: u64,
    /// `unsafe` blocks.
    pub unsafe_blocks: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.statements += other.statements;
        self.branches += other.branches;
        self.index_operations += other.index_operations;
        self.lines += other.lines;
        self.unsafe_blocks += other.unsafe_blocks;
    }
}

/// Functions of some files, tests left out, and the fields of their structs that are written: assigned
/// (`=`, `+=` and the like), borrowed by `&mut`, or emptied by `take()`, `replace(..)` or `insert(..)` of an
/// `Option`. Fields go by their names, within these files; those of a struct that is being made do not count.
pub(super) fn count(files: &[Source]) -> (Vec<Function>, Vec<Field>) {
    let mut functions = Vec::new();
    let mut written = Vec::new();
    for file in files {
        let mut walk = Functions { file, lines: lines(&file.text), found: Vec::new(), written: Vec::new() };
        walk.items(&file.tree.items);
        functions.append(&mut walk.found);
        written.append(&mut walk.written);
    }
    (functions, fields(files, &written))
}

/// The lines on which a token begins or ends. Comments are no tokens, but those of documentation are.
fn lines(text: &str) -> BTreeSet<usize> {
    fn add(tokens: TokenStream, lines: &mut BTreeSet<usize>) {
        for token in tokens {
            match &token {
                TokenTree::Group(group) => {
                    lines.extend([group.span_open().start().line, group.span_close().end().line]);
                    add(group.stream(), lines);
                }
                token => lines.extend(token.span().start().line..=token.span().end().line),
            }
        }
    }
    let mut lines = BTreeSet::new();
    add(TokenStream::from_str(text).unwrap_or_default(), &mut lines);
    lines
}

/// The fields that some method writes, in order of the files. Where several structs have a field of one name, they
/// stand together as one, because the tree does not say of which a place is.
fn fields(files: &[Source], written: &[String]) -> Vec<Field> {
    let mut fields: Vec<(String, Field)> = Vec::new();
    for (file, owner, name) in files.iter().flat_map(declared) {
        let writes = written.iter().filter(|written| **written == name).count() as u64;
        let full = format!("{owner}.{name}");
        match fields.iter_mut().find(|(known, _)| *known == name) {
            Some((_, field)) => field.name = format!("{}, {full}", field.name),
            None if writes > 0 => fields.push((name, Field { file: file.name.clone(), name: full, writes })),
            None => {}
        }
    }
    fields.into_iter().map(|(_, field)| field).collect()
}

/// The fields of a file's structs: the struct and the name.
fn declared(file: &Source) -> Vec<(&Source, String, String)> {
    let mut found = Vec::new();
    for item in &file.tree.items {
        if let Item::Struct(item) = item
            && let Fields::Named(named) = &item.fields
        {
            let names = named.named.iter().filter_map(|field| field.ident.as_ref());
            found.extend(names.map(|name| (file, item.ident.to_string(), name.to_string())));
        }
    }
    found
}

/// Walks over the functions of a file.
struct Functions<'a> {
    file: &'a Source,
    lines: BTreeSet<usize>,
    found: Vec<Function>,
    written: Vec<String>,
}

impl Functions<'_> {
    fn items(&mut self, items: &[Item]) {
        for item in items {
            match item {
                Item::Fn(item) if !is_for_tests(&item.attrs) => self.add(None, false, &item.sig, &item.block),
                Item::Impl(item) if !is_for_tests(&item.attrs) => self.implementation(item),
                Item::Trait(item) if !is_for_tests(&item.attrs) => self.defaults(item),
                Item::Mod(item) if !is_for_tests(&item.attrs) => {
                    if let Some((_, items)) = &item.content {
                        self.items(items);
                    }
                }
                _ => {}
            }
        }
    }

    fn implementation(&mut self, item: &ItemImpl) {
        let last = |path: &syn::Path| path.segments.last().map(|segment| segment.ident.to_string());
        let owner = match &*item.self_ty {
            syn::Type::Path(path) => last(&path.path),
            _ => None,
        };
        let of = item.trait_.as_ref().and_then(|(_, path, _)| last(path));
        let is_contract = matches!(of.as_deref(), Some("TimerQueue" | "Batch"));
        for method in &item.items {
            if let ImplItem::Fn(method) = method
                && !is_for_tests(&method.attrs)
            {
                self.add(owner.clone(), is_contract, &method.sig, &method.block);
            }
        }
    }

    fn defaults(&mut self, item: &ItemTrait) {
        for method in &item.items {
            if let TraitItem::Fn(method) = method
                && let Some(block) = &method.default
            {
                self.add(Some(item.ident.to_string()), false, &method.sig, block);
            }
        }
    }

    fn add(&mut self, owner: Option<String>, is_contract: bool, signature: &Signature, block: &Block) {
        let mut counter = Counter::default();
        counter.visit_block(block);
        let from = signature.fn_token.span.start().line;
        let to = block.brace_token.span.close().end().line;
        counter.counts.lines = self.lines.range(from..=to).count() as u64;
        self.written.append(&mut counter.written);
        self.found.push(Function {
            file: self.file.name.clone(),
            owner,
            name: signature.ident.to_string(),
            is_contract,
            counts: counter.counts,
        });
    }
}

/// Counts within a function.
#[derive(Default)]
struct Counter {
    counts: Counts,
    /// Names of fields, once for each place that writes them.
    written: Vec<String>,
}

impl Counter {
    fn writes(&mut self, place: &Expr) {
        match place {
            Expr::Field(field) => {
                if let syn::Member::Named(name) = &field.member {
                    self.written.push(name.to_string());
                }
            }
            Expr::Tuple(places) => places.elems.iter().for_each(|place| self.writes(place)),
            Expr::Paren(place) => self.writes(&place.expr),
            _ => {}
        }
    }

    fn method(&mut self, call: &syn::ExprMethodCall) {
        let on_self = matches!(&*call.receiver, Expr::Path(path) if path.path.is_ident("self"));
        match (call.method.to_string().as_str(), call.args.len()) {
            ("get" | "get_mut" | "get_unchecked" | "get_unchecked_mut", 1) | ("swap", 2) if !on_self => {
                self.counts.index_operations += 1;
            }
            ("take", 0) | ("replace" | "insert", 1) => self.writes(&call.receiver),
            _ => {}
        }
    }
}

impl<'ast> Visit<'ast> for Counter {
    fn visit_stmt(&mut self, statement: &'ast Stmt) {
        match statement {
            // A function within a function, a constant: no step of this one.
            Stmt::Item(_) => return,
            Stmt::Local(local) => {
                let diverges = local.init.as_ref().is_some_and(|init| init.diverge.is_some());
                self.counts.branches += u64::from(diverges);
            }
            Stmt::Expr(..) | Stmt::Macro(_) => {}
        }
        self.counts.statements += 1;
        visit::visit_stmt(self, statement);
    }

    fn visit_arm(&mut self, arm: &'ast Arm) {
        self.counts.statements += u64::from(!matches!(&*arm.body, Expr::Block(_)));
        self.counts.branches += u64::from(arm.guard.is_some());
        visit::visit_arm(self, arm);
    }

    fn visit_expr(&mut self, expression: &'ast Expr) {
        match expression {
            Expr::If(_) | Expr::While(_) | Expr::ForLoop(_) | Expr::Loop(_) | Expr::Try(_) => {
                self.counts.branches += 1;
            }
            Expr::Match(choice) => self.counts.branches += choice.arms.len().saturating_sub(1) as u64,
            Expr::Index(_) => self.counts.index_operations += 1,
            Expr::Unsafe(_) => self.counts.unsafe_blocks += 1,
            Expr::MethodCall(call) => self.method(call),
            Expr::Assign(assignment) => self.writes(&assignment.left),
            Expr::Reference(reference) if reference.mutability.is_some() => self.writes(&reference.expr),
            Expr::Binary(binary) => self.binary(binary),
            _ => {}
        }
        visit::visit_expr(self, expression);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        if call.path.is_ident("matches") {
            self.counts.branches += 1;
        }
        // What a macro gets is no syntax tree; where it is a list of expressions, it is read as one.
        let arguments = call.parse_body_with(Punctuated::<Expr, Token![,]>::parse_terminated);
        for argument in arguments.iter().flatten() {
            // Short-lived, so that it cannot be visited for the lifetime of the file.
            let mut inner = Self::default();
            inner.visit_argument(argument);
            self.counts += inner.counts;
            self.written.append(&mut inner.written);
        }
    }
}

impl Counter {
    fn visit_argument(&mut self, argument: &Expr) {
        Visit::visit_expr(self, argument);
    }

    fn binary(&mut self, binary: &syn::ExprBinary) {
        match binary.op {
            BinOp::And(_) | BinOp::Or(_) => self.counts.branches += 1,
            BinOp::AddAssign(_)
            | BinOp::SubAssign(_)
            | BinOp::MulAssign(_)
            | BinOp::DivAssign(_)
            | BinOp::RemAssign(_)
            | BinOp::BitXorAssign(_)
            | BinOp::BitAndAssign(_)
            | BinOp::BitOrAssign(_)
            | BinOp::ShlAssign(_)
            | BinOp::ShrAssign(_) => self.writes(&binary.left),
            _ => {}
        }
    }
}
