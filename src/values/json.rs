//! Converts the values that programs set to the values of fields, and stores fields that the
//! contract does not define.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    fmt,
    fmt::Display,
    ops::{Deref, DerefMut},
};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

use super::AspectRatio;

/// Says what is wrong with a value that a field cannot represent. Only this crate can name this
/// type, so other crates cannot implement the trait below.
#[derive(Debug, PartialEq)]
pub struct Fault(pub(crate) String);

/// A value for a field of type `T`: any integer type for an integer, or text such as `"16:9"` for
/// an [`AspectRatio`]. `None` leaves an optional field out.
///
/// A field of type [`Value`] takes text, a number, a Boolean, `null` (`()` or `None`), a list of
/// these, or any other [`Value`]. For other types, pass the result of [`serde_json::to_value`].
///
/// A value that the field cannot represent is a violation of the request. The SDK never truncates
/// or rounds a value. JSON cannot represent NaN and infinities. `serde_json` converts them to
/// `null`, but the SDK reports a violation if a field is set to such a number. It does not detect a
/// `null` that `serde_json` has already created, as in `json!(f64::NAN)`.
///
/// This trait is sealed.
pub trait IntoField<T> {
    /// Returns the value of the field, or what is wrong with the given value.
    #[doc(hidden)]
    fn into_field(self) -> Result<T, Fault>;
}

/// Implements a conversion for each of these types.
macro_rules! convert {
    ($target:ty; $($($type:ty),+ => |$value:ident| $result:expr;)+) => {
        $($(
            impl IntoField<$target> for $type {
                fn into_field(self) -> Result<$target, Fault> {
                    let $value = self;
                    $result
                }
            }
        )+)+
    };
}

convert! {
    Value;
    bool, i8, i16, i32, i64, isize, u8, u16, u32, u64, usize => |value| Ok(value.into());
    &str, String, Cow<'_, str>, Number, Map<String, Value>, () => |value| Ok(value.into());
    Value => |value| Ok(value);
    &String => |text| text.as_str().into_field();
    f32, f64 => |number| if number.is_finite() {
        Ok(number.into())
    } else {
        Err(Fault(format!("is {number}; must be a finite number")))
    };
}

convert! {
    i64;
    i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize => |value| integer(value);
}

convert! {
    Option<i64>;
    i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize => |value| {
        integer(value).map(Some)
    };
    Option<i64> => |value| Ok(value);
}

convert! {
    AspectRatio;
    AspectRatio => |ratio| Ok(ratio);
    (u32, u32) => |sides| Ok(sides.into());
    &str => |text| text.parse::<AspectRatio>().map_err(|error| Fault(error.to_string()));
    String, &String => |text| text.as_str().into_field();
}

convert! {
    Option<AspectRatio>;
    AspectRatio, (u32, u32), &str, String, &String => |ratio| {
        IntoField::<AspectRatio>::into_field(ratio).map(Some)
    };
    Option<AspectRatio> => |ratio| Ok(ratio);
}

impl<T: IntoField<Value>> IntoField<Value> for Option<T> {
    fn into_field(self) -> Result<Value, Fault> {
        self.map_or(Ok(Value::Null), IntoField::into_field)
    }
}

impl<T: IntoField<Value>> IntoField<Value> for Vec<T> {
    fn into_field(self) -> Result<Value, Fault> {
        list(self)
    }
}

impl<T: IntoField<Value>, const N: usize> IntoField<Value> for [T; N] {
    fn into_field(self) -> Result<Value, Fault> {
        list(self)
    }
}

impl<T: IntoField<Value> + Clone> IntoField<Value> for &[T] {
    fn into_field(self) -> Result<Value, Fault> {
        list(self.iter().cloned())
    }
}

fn integer(value: impl TryInto<i64> + Copy + Display) -> Result<i64, Fault> {
    value.try_into().map_err(|_| Fault(format!("is {value}; must be a 64-bit integer")))
}

fn list(items: impl IntoIterator<Item = impl IntoField<Value>>) -> Result<Value, Fault> {
    let items = items.into_iter().enumerate().map(|(index, item)| {
        item.into_field()
            .map_err(|Fault(problem)| Fault(format!("has an item (at {index}) that {problem}")))
    });
    items.collect::<Result<_, _>>().map(Value::Array)
}

/// The fields of a request or a response that the contract does not define. The client sends them
/// as the program has set them, and keeps them as the service has sent them.
///
/// Dereferences to the underlying `serde_json::Map`. `Debug` prints only the field names, because
/// unknown values may be secret.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Extra {
    fields: Map<String, Value>,
    /// The violations of fields that cannot represent the value to which they were set, by the name
    /// of the field.
    #[serde(skip)]
    faults: BTreeMap<String, String>,
}

impl Extra {
    /// Sets a field. Records a violation if JSON cannot represent the value, for example NaN.
    pub(crate) fn set(&mut self, name: String, value: impl IntoField<Value>) {
        match self.checked(&name, value.into_field()) {
            Some(value) => self.fields.insert(name, value),
            None => self.fields.remove(&name),
        };
    }

    /// Returns the value of the field `name`, or records a violation of it.
    pub(crate) fn checked<T>(&mut self, name: &str, value: Result<T, Fault>) -> Option<T> {
        match value {
            Ok(value) => {
                self.faults.remove(name);
                Some(value)
            }
            Err(Fault(fault)) => {
                self.faults.insert(name.to_owned(), fault);
                None
            }
        }
    }

    /// Records a violation of the field `name` if there are more reference images than fields for
    /// them.
    pub(crate) fn limit_references(&mut self, name: &str, most: usize, too_many: usize) {
        let given = most + too_many;
        let fault = format!("is the first of {given} reference images; at most {most} are allowed");
        self.checked(name, if too_many > 0 { Err(Fault(fault)) } else { Ok(()) });
    }

    /// Returns the fields, and the violations of those that could not be set.
    pub(crate) fn into_parts(self) -> (Map<String, Value>, BTreeMap<String, String>) {
        (self.fields, self.faults)
    }
}

impl Deref for Extra {
    type Target = Map<String, Value>;

    fn deref(&self) -> &Self::Target {
        &self.fields
    }
}

impl DerefMut for Extra {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.fields
    }
}

impl From<Map<String, Value>> for Extra {
    fn from(map: Map<String, Value>) -> Self {
        Self { fields: map, ..Self::default() }
    }
}

impl fmt::Debug for Extra {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.fields.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_convert_like_serde_json() {
        assert_eq!("a".into_field(), Ok(json!("a")));
        assert_eq!((&"a".to_owned()).into_field(), Ok(json!("a")));
        assert_eq!(u64::MAX.into_field(), Ok(json!(u64::MAX)));
        assert_eq!(i64::MIN.into_field(), Ok(json!(i64::MIN)));
        assert_eq!(7usize.into_field(), Ok(json!(7)));
        assert_eq!(0.5f32.into_field(), Ok(json!(0.5)));
        assert_eq!(None::<bool>.into_field(), Ok(Value::Null));
        assert_eq!(().into_field(), Ok(Value::Null));
        assert_eq!(Some(true).into_field(), Ok(json!(true)));
        assert_eq!(vec![[1, 2], [3, 4]].into_field(), Ok(json!([[1, 2], [3, 4]])));
        assert_eq!([1.5, 2.5].as_slice().into_field(), Ok(json!([1.5, 2.5])));
        assert_eq!(json!({ "a": null }).into_field(), Ok(json!({ "a": null })));
    }

    #[test]
    fn integers_are_never_truncated() {
        assert_eq!(7usize.into_field(), Ok(7));
        assert_eq!(i64::MIN.into_field(), Ok(i64::MIN));
        let problem = "is 18446744073709551615; must be a 64-bit integer";
        assert_eq!(IntoField::<i64>::into_field(u64::MAX), Err(Fault(problem.to_owned())));
        assert!(IntoField::<i64>::into_field(i128::MIN).is_err());
    }

    /// A program may have an optional seed, and pass it to the setter without a condition.
    #[test]
    fn none_leaves_an_optional_field_out() {
        let wolf = || crate::types::GenPro11Ultra::new().seed(7).aspect_ratio("16:9");
        let wide = wolf().seed(None);
        assert_eq!((wide.seed, wide.aspect_ratio), (None, Some((16, 9).into())));
        let wolf = wolf().aspect_ratio(None).seed(Some(8));
        assert_eq!((wolf.seed, wolf.aspect_ratio), (Some(8), None));
        // Setting the field again removes the violation.
        let corrected = crate::types::Gen2Pro::new("a wolf").seed(u64::MAX).seed(None);
        assert!(corrected.validate().is_ok());
    }

    #[test]
    fn non_finite_numbers_are_refused_at_any_depth() {
        assert_eq!(f64::NAN.into_field(), Err(Fault("is NaN; must be a finite number".to_owned())));
        assert_eq!(
            f32::INFINITY.into_field(),
            Err(Fault("is inf; must be a finite number".to_owned()))
        );
        assert!(Some(f64::NEG_INFINITY).into_field().is_err());
        let nested = vec![vec![0.5], vec![1.5, f64::NAN]];
        let problem =
            "has an item (at 1) that has an item (at 1) that is NaN; must be a finite number";
        assert_eq!(nested.into_field(), Err(Fault(problem.to_owned())));
    }
}
