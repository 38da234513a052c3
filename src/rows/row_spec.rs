//! The objects that records become: dicts, or instances of a class.

use std::sync::{Arc, atomic::AtomicBool};

use crate::prelude::*;
use crate::values::{converter::Conversion, instances::InstanceMaker};
use boardlot_client::extension::{
    api::Field,
    decode::{Rows, Selection},
};

/// The objects that the records of a list become.
#[derive(Default)]
pub struct RowSpec {
    pub target: Target,
    /// The declared fields.
    pub fields: Arc<[Field]>,
    /// The fields that the records are restricted to.
    pub selection: Option<Selection>,
}

#[derive(Default)]
pub enum Target {
    /// Dicts of the service's own values.
    #[default]
    Dict,
    /// Dicts of values of the declared kinds.
    TypedDict,
    Class(RowClass),
}

/// A class whose instances records become.
pub struct RowClass {
    pub class: Py<PyAny>,
    /// Its name, for errors.
    pub name: String,
    pub construction: Construction,
    /// Unless the class is called.
    pub maker: Option<InstanceMaker>,
    pub fields: Vec<ClassField>,
    /// True if a record had all fields that it requires.
    pub fits_records: AtomicBool,
}

/// The construction of instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Construction {
    /// A subclass of `tuple` with the constructor that `NamedTuple` generates.
    Tuple,
    /// By setting attributes: all that the constructor that `dataclass` generates does.
    Attributes,
    /// By calling the class, whose constructor is not Python code, with the values in the order of its
    /// fields.
    Positional,
    /// By calling the class with keywords.
    Keywords,
}

pub struct ClassField {
    /// The attribute, and the keyword of the constructor.
    pub attribute: Py<PyString>,
    /// The record's field.
    pub name: String,
    pub conversion: Conversion,
    /// True if `None` is accepted.
    pub is_nullable: bool,
    /// The annotation, for errors.
    pub type_name: String,
    pub default: FieldDefault,
}

/// The value of a field that a record does not have.
pub enum FieldDefault {
    /// No value: the record is refused.
    Required,
    Value(Py<PyAny>),
    /// The return value of this function.
    Factory(Py<PyAny>),
    /// The constructor knows.
    OfConstructor,
}

impl RowSpec {
    /// Dicts of the service's own values, restricted to the fields of these rows.
    pub fn dicts(selection: Option<&Selection>) -> Self {
        RowSpec { selection: selection.cloned(), ..RowSpec::default() }
    }

    /// The spec for these rows.
    pub fn of_rows(target: Target, rows: &Rows) -> Self {
        let selection = rows.selection().cloned();
        RowSpec { target, fields: rows.fields().clone(), selection }
    }
}

impl RowClass {
    /// Reports the references to the class.
    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.class)?;
        self.maker.as_ref().map_or(Ok(()), |maker| maker.traverse(visit))
    }

    /// Returns true if instances are made without running any code of the caller's.
    pub fn is_inert(&self) -> bool {
        let runs_code = |field: &ClassField| {
            matches!(field.default, FieldDefault::Factory(_) | FieldDefault::OfConstructor)
                || matches!(field.conversion, Conversion::Enum(_))
        };
        self.construction != Construction::Keywords && !self.fields.iter().any(runs_code)
    }
}
