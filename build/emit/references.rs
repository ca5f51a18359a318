//! Generates the setter for all reference images, for types with numbered image fields:
//! `input_image`, `input_image_2`, ...

use proc_macro2::TokenStream;
use quote::quote;

use super::{
    super::field::{Field, Kind},
    ident,
};

/// Returns the numbered image fields in order. Returns none if the contract defines a field with
/// the name of the setter, `references`.
pub fn numbered(fields: &[Field]) -> Vec<&Field> {
    if fields.iter().any(|field| field.name == "references") {
        return Vec::new();
    }
    let image = |name: &str| {
        let is_image = |field: &&Field| matches!(field.kind, Kind::Image { .. });
        fields.iter().filter(is_image).find(|field| field.name == name && !field.required)
    };
    let mut seconds = fields.iter().filter_map(|field| field.name.strip_suffix("_2"));
    let Some(first) = seconds.find_map(image) else { return Vec::new() };
    let further = (2..).map_while(|number| image(&format!("{}_{number}", first.name)));
    std::iter::once(first).chain(further).collect()
}

pub fn setter(fields: &[Field]) -> Option<TokenStream> {
    let fields = numbered(fields);
    let first = &fields.first()?.name;
    let (most, names) = (fields.len(), fields.iter().map(|field| ident(field)));
    let documentation = format!(
        "Sets the reference images in order: `{first}`, `{first}_2` and so on.\n\n\
         Replaces all previous reference images. More than {most} images are a violation."
    );
    Some(quote! {
        #[doc = #documentation]
        pub fn references(
            mut self,
            images: impl IntoIterator<Item = impl Into<crate::ImageInput>>,
        ) -> Self {
            let mut images = images.into_iter().map(Into::into);
            #(self.#names = images.next();)*
            self.extra.limit_references(#first, #most, images.count());
            self
        }
    })
}
