use super::source::made_up;
use super::*;
use crate::select::structures;

const TEXT: &str = r#"
struct Ring { head: usize, len: usize, items: Vec<u8>, spare: Option<u8> }

impl<T> TimerQueue<T> for Ring {
    /// Documentation is no line.
    fn take(&mut self, now: u64) -> Option<u8> {
        let Some(first) = self.items.get(self.head) else { return None }; // 1 let, 1 return; 1 branch, 1 index

        if *first > 3 && now > 1 || self.len == 0 {
            // a comment
            self.len -= 1;
            self.head = self.items[0] as usize;
        } else if self.len > 1 {
            self.spare.take();
        }
        match now {
            0 => None,
            1 if self.len > 0 => { Some(*first) }
            _ => Some(self.items[1..][0]),
        }
    }

    #[cfg(feature = "testing")]
    fn check(&self) { self.items[0]; }
}

fn helper(items: &mut [u8]) -> Option<()> {
    for i in 0..2 {
        unsafe { items.as_mut_ptr().add(i).read() };
        items.swap(i, items.len());
    }
    let len = &mut Ring::new().len;
    debug_assert!(items[0] > 1 && matches!(len, 1));
    items.first().map(|_| ())?;
    Some(())
}

#[cfg(test)]
mod tests {
    fn test() { if true {} }
}
"#;

fn found(name: &str) -> Function {
    let (functions, _) = count::count(&[made_up(TEXT)]);
    functions.into_iter().find(|function| function.name == name).unwrap()
}

#[test]
fn a_method_comes_to_what_is_counted_by_hand() {
    let take = found("take");
    assert!(take.is_contract);
    assert_eq!(take.owner.as_deref(), Some("Ring"));
    let by_hand = Counts {
        // let, return; if; two in its block, one in the other's; match; two arms without a block, one in a block.
        statements: 10,
        // let else; if, &&, ||; else if; two further arms; a guard.
        branches: 8,
        // get; items[0]; items[1..] and [0] of it.
        index_operations: 4,
        lines: 14,
        unsafe_blocks: 0,
    };
    assert_eq!(take.counts, by_hand);
}

#[test]
fn a_free_function_is_a_helper_and_macros_are_looked_into() {
    let helper = found("helper");
    assert!(!helper.is_contract && helper.owner.is_none());
    let by_hand = Counts {
        // for; unsafe, what is in it, swap; let; debug_assert; first; Some.
        statements: 8,
        // for; &&, matches; ?.
        branches: 4,
        // swap; items[0].
        index_operations: 2,
        lines: 10,
        unsafe_blocks: 1,
    };
    assert_eq!(helper.counts, by_hand);
}

#[test]
fn tests_and_checks_are_left_out() {
    let (functions, _) = count::count(&[made_up(TEXT)]);
    let names: Vec<_> = functions.iter().map(|function| function.name.as_str()).collect();
    assert_eq!(names, ["take", "helper"]);
}

#[test]
fn fields_are_written_by_assignment_by_mutable_borrow_and_by_taking() {
    let (_, fields) = count::count(&[made_up(TEXT)]);
    let found: Vec<_> = fields.iter().map(|field| (field.name.as_str(), field.writes)).collect();
    assert_eq!(found, [("Ring.head", 1), ("Ring.len", 2), ("Ring.spare", 1)]);
}

#[test]
fn a_name_that_two_structs_have_is_one_field() {
    let text = "struct A { len: u8 } struct B { len: u8, other: u8 } fn f(a: &mut A, b: &mut B) { a.len = 1; b.len += 1; }";
    let (_, fields) = count::count(&[made_up(text)]);
    let found: Vec<_> = fields.iter().map(|field| (field.name.as_str(), field.writes)).collect();
    assert_eq!(found, [("A.len, B.len", 2)]);
}

#[test]
fn every_structure_of_the_registry_has_code_and_its_operations_are_found() {
    let sources = Sources::find(None).unwrap();
    let all = complexity(&sources, &structures(&["*".into()]).unwrap()).unwrap();
    assert_eq!(all.len(), impls::registry::ENTRIES.len());
    for one in &all {
        let (part, functions, _) = &one.parts[0];
        assert_eq!(*part, Part::Own);
        for name in ["enqueue", "take", "requeue", "cancel", "reschedule"] {
            let method = functions.iter().find(|function| function.name == name && function.is_contract);
            let counts = method.unwrap_or_else(|| panic!("{} has no {name}", one.structure)).counts;
            assert!(counts.statements > 0 && counts.lines > 2, "{} {name}: {counts:?}", one.structure);
        }
    }
    let shared = |name: &str| {
        let one = all.iter().find(|one| one.structure == name).unwrap();
        one.parts.iter().map(|(part, ..)| part.clone()).skip(1).collect::<Vec<_>>()
    };
    assert_eq!(shared("list"), [Part::Shared("link".into())]);
    assert_eq!(shared("wheel"), [Part::Shared("slots".into())]);
    assert_eq!(shared("array"), []);
}

#[test]
fn unsafe_blocks_stand_in_the_chain_alone() {
    let sources = Sources::find(None).unwrap();
    let all = complexity(&sources, &structures(&["five".into()]).unwrap()).unwrap();
    for row in rows(&all, By::File) {
        let is_chain = row.file.as_deref().unwrap().starts_with("link/");
        assert_eq!(row.unsafe_blocks > Some(0), is_chain, "{row:?}");
    }
}

#[test]
fn totals_are_the_sum_of_files_and_files_of_methods() {
    let sources = Sources::find(None).unwrap();
    let all = complexity(&sources, &structures(&["five".into()]).unwrap()).unwrap();
    let sum = |by, code: Option<&str>| {
        let rows = rows(&all, by);
        let wanted = rows.iter().filter(|row| code.is_none_or(|code| row.code != code));
        wanted.map(|row| row.statements.unwrap()).sum::<u64>()
    };
    assert_eq!(sum(By::Structure, Some("all")), sum(By::File, None));
    assert_eq!(sum(By::File, None), sum(By::Method, None));
}

#[test]
fn a_folder_without_sources_is_refused_with_what_to_do() {
    let error = Sources::find(Some(tempfile::tempdir().unwrap().path())).unwrap_err().to_string();
    assert!(error.contains("impls/src/lib.rs") && error.contains("--source DIR"), "{error}");
}
