//! The limits of a JSON document. They are checked while it is read, before its values are stored:
//! small values take a hundred times the memory of their text.

use std::{cell::Cell, fmt};

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// The maximum number of values and names.
pub(crate) const MAX_VALUES: usize = 10_000;

/// The maximum length of a name in bytes.
pub(crate) const MAX_NAME_BYTES: usize = 256;

/// A limit that a document exceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Excess {
    Values,
    Name,
}

/// Returns the limit that a document exceeds. Documents that are not JSON exceed none.
pub(crate) fn excess(bytes: &[u8]) -> Option<Excess> {
    let (left, found) = (Cell::new(MAX_VALUES), Cell::new(None));
    let count = Count { left: &left, found: &found };
    // Any other error is found when the values are read.
    let _ = count.deserialize(&mut serde_json::Deserializer::from_slice(bytes));
    found.get()
}

#[derive(Clone, Copy)]
struct Count<'a> {
    left: &'a Cell<usize>,
    found: &'a Cell<Option<Excess>>,
}

impl Count<'_> {
    fn one<E: Error>(self) -> Result<(), E> {
        match self.left.get().checked_sub(1) {
            Some(left) => {
                self.left.set(left);
                Ok(())
            }
            None => self.exceed(Excess::Values),
        }
    }

    fn exceed<E: Error>(self, limit: Excess) -> Result<(), E> {
        self.found.set(Some(limit));
        Err(E::custom("a limit is exceeded"))
    }
}

impl<'de> DeserializeSeed<'de> for Count<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<(), D::Error> {
        self.one()?;
        value.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Count<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(self)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(name) = members.next_key::<String>()? {
            self.one()?;
            if name.len() > MAX_NAME_BYTES {
                return self.exceed(Excess::Name);
            }
            members.next_value_seed(self)?;
        }
        Ok(())
    }
}
