// Appended to a copy of `lib.rs`, which is then compiled as a program: `NAME [KEY=VALUE]...` puts one structure
// through the suite. It exits with 1 when the suite finds something.

fn put_through<A, B, C>(name: &str, params: &queue::Params)
where
    A: queue::TimerQueue<conformance::Token>,
    B: queue::TimerQueue<u64>,
    C: queue::TimerQueue<conformance::lifetime::Counted>,
{
    use conformance::{Failure, Options, Promise, cases, examine, lifetime};

    let promise = Promise::of(registry::find(name).expect("an entry"), params);
    let suite = || -> Result<(), Failure> {
        cases::examine::<B>(params, promise)?;
        lifetime::counted::<C>(params)?;
        lifetime::flat(B::with(params).expect("known parameters"), 3_000)?;
        examine::<A>(params, promise, Options { first: 1, seeds: 20 })?;
        Ok(())
    };
    if let Err(failure) = suite() {
        eprintln!("{failure}");
        std::process::exit(1);
    }
}

macro_rules! put_through_by_name {
    ($( $name:literal => $module:ident :: $type:ident { $($rest:tt)* } )*) => {
        pub fn main() {
            let mut arguments = std::env::args().skip(1);
            let name = arguments.next().expect("the name of a structure");
            let mut params = queue::Params::default();
            for pair in arguments {
                let (key, value) = pair.split_once('=').expect("key=value");
                params.set(key, value);
            }
            match name.as_str() {
                $( $name => put_through::<
                    $module::$type<conformance::Token>,
                    $module::$type<u64>,
                    $module::$type<conformance::lifetime::Counted>,
                >($name, &params), )*
                _ => panic!("no structure is called {name}"),
            }
        }
    };
}
structures!(put_through_by_name);
