//! The `{:?}` of types that may hold secrets, or that have nothing to show.

/// Implements `Debug` for a type with this text alone: `shown_as!(Key, |key| "Key({})", key.id)`.
#[macro_export]
macro_rules! shown_as {
    ($type:ty, $text:literal) => {
        $crate::shown_as!($type, |_this| $text);
    };
    ($type:ty, |$this:ident| $($format:tt)+) => {
        impl std::fmt::Debug for $type {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let $this = self;
                write!(out, $($format)+)
            }
        }
    };
}
