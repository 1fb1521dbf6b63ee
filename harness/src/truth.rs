//! placeholder while drive lands
