//! Instances of tuple classes and plain classes, made as their own constructors would make them.
//!
//! The constructors that `dataclass` and `NamedTuple` generate are Python code. Calling it for
//! every record would take longer than everything else about the record. An `InstanceMaker` does
//! exactly what that code does: `tuple.__new__(cls, values)`, or `object.__new__(cls)` and then
//! `object.__setattr__` for each field. `_support/row_classes.py` finds out whether a class has
//! nothing but generated code, and the tests compare instances with those of the class's own
//! constructor.

use std::{ffi::c_void, mem, ptr};

use pyo3::{exceptions::PyTypeError, ffi, types::PyAny};

use crate::interpreter::callback;
use crate::prelude::*;

/// Makes instances of a class by the constructor of the built-in type that it is derived from.
pub struct InstanceMaker {
    class: Py<PyType>,
    new: ffi::newfunc,
}

impl InstanceMaker {
    /// Creates it for a class that inherits `__new__` from `tuple`, or only wraps it.
    pub fn of_tuples(class: &Bound<'_, PyType>) -> PyResult<Self> {
        Self::derived_from(class, &class.py().get_type::<PyTuple>())
    }

    /// Creates it for a class that inherits `__new__` from `object`.
    pub fn of_objects(class: &Bound<'_, PyType>) -> PyResult<Self> {
        Self::derived_from(class, &class.py().get_type::<PyAny>())
    }

    #[expect(unsafe_code, reason = "`__new__` as an attribute takes twice as long to call")]
    fn derived_from(class: &Bound<'_, PyType>, base: &Bound<'_, PyType>) -> PyResult<Self> {
        let slot = match class.is_subclass(base)? {
            // SAFETY: `base` is a type object, and this thread is attached to the interpreter.
            true => unsafe { ffi::PyType_GetSlot(base.as_type_ptr(), ffi::Py_tp_new) },
            false => ptr::null_mut(),
        };
        if slot.is_null() {
            return Err(PyTypeError::new_err("the class cannot be instantiated in this way"));
        }
        // SAFETY: a `tp_new` slot that is not null contains a `newfunc`, and `tuple` and `object`
        // are static types, so that it remains valid.
        let new = unsafe { mem::transmute::<*mut c_void, ffi::newfunc>(slot) };
        Ok(InstanceMaker { class: class.clone().unbind(), new })
    }

    /// Reports the reference to the class.
    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.class)
    }

    /// A new instance, made of these arguments.
    #[inline(always)]
    #[expect(unsafe_code, reason = "`__new__` as an attribute takes twice as long to call")]
    fn instance<'py>(&self, arguments: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        let (py, class) = (arguments.py(), self.class.as_ptr().cast());
        // SAFETY: the class is a subtype of the type whose constructor this is. It takes a tuple of
        // arguments and null for no keywords, and returns a new reference, or null with an
        // exception.
        unsafe {
            let object = (self.new)(class, arguments.as_ptr(), ptr::null_mut());
            Bound::from_owned_ptr_or_err(py, object)
        }
    }

    /// An instance of a tuple class with these items.
    #[inline(always)]
    pub fn tuple<'py>(&self, items: &ArgumentTuple<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
        self.instance(items.outer)
    }

    /// An instance without attributes.
    #[inline(always)]
    pub fn object<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.instance(&PyTuple::empty(py))
    }
}

/// The values of a record, as a tuple for its constructor. The next record fills the same tuple,
/// unless the constructor has kept it: making a tuple for each record takes longer than making the
/// instance.
pub struct ItemTuple {
    /// A tuple with only the tuple of values, which has no other reference.
    outer: Py<PyTuple>,
}

/// An `ItemTuple` while it is filled.
pub struct ArgumentTuple<'a, 'py> {
    outer: &'a Bound<'py, PyTuple>,
    /// A borrowed reference to the tuple of values.
    items: *mut ffi::PyObject,
}

impl ItemTuple {
    fn new(py: Python<'_>, length: usize) -> PyResult<Self> {
        let items = PyTuple::new(py, (0..length).map(|_| py.None()))?;
        Ok(ItemTuple { outer: PyTuple::new(py, [items])?.unbind() })
    }

    /// Returns the tuple that was used before, or a new one of this length if there is none or
    /// other code now has a reference to it.
    #[inline(always)]
    #[expect(unsafe_code, reason = "PyO3 does not count references")]
    pub fn prepare<'a, 'py>(
        used: &'a mut Option<Self>,
        py: Python<'py>,
        length: usize,
    ) -> PyResult<ArgumentTuple<'a, 'py>> {
        // SAFETY: the pointer is that of a live object, to whose interpreter this thread is
        // attached.
        used.take_if(|used| unsafe { ffi::Py_REFCNT(used.items(py).items) } != 1);
        match used {
            Some(used) => Ok(used.items(py)),
            None => Ok(used.insert(ItemTuple::new(py, length)?).items(py)),
        }
    }

    #[inline(always)]
    #[expect(unsafe_code, reason = "PyO3 would take a reference to the tuple")]
    fn items<'py>(&self, py: Python<'py>) -> ArgumentTuple<'_, 'py> {
        let outer = self.outer.bind(py);
        // SAFETY: the outer tuple has one item, and keeps it alive: nothing else ever changes it.
        ArgumentTuple { outer, items: unsafe { ffi::PyTuple_GetItem(outer.as_ptr(), 0) } }
    }
}

impl<'py> ArgumentTuple<'_, 'py> {
    /// Replaces an item.
    #[inline(always)]
    #[expect(unsafe_code, reason = "PyO3 has no way to change a tuple")]
    pub fn set(&self, index: usize, value: Bound<'py, PyAny>) -> PyResult<()> {
        let py = value.py();
        // SAFETY: both are live objects of this interpreter, to which this thread is attached. The
        // function takes our reference to the value. It returns -1 with an exception if there is no
        // such item, or if the tuple has another reference.
        let status =
            unsafe { ffi::PyTuple_SetItem(self.items, index as ffi::Py_ssize_t, value.into_ptr()) };
        if status == -1 { Err(PyErr::fetch(py)) } else { Ok(()) }
    }

    /// `class(*items)`.
    #[inline(always)]
    #[expect(unsafe_code, reason = "PyO3 would take a reference to the tuple")]
    pub fn call(&self, class: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        // SAFETY: the pointer is that of a live object of this interpreter, to which this thread is
        // attached.
        let items = unsafe { Borrowed::<PyAny>::from_ptr(class.py(), self.items) };
        // SAFETY: the object is a tuple.
        callback::call(class, unsafe { items.cast_unchecked() }, None)
    }
}

/// `object.__setattr__(object, name, value)`, which also sets the attributes of frozen instances.
#[inline(always)]
#[expect(unsafe_code, reason = "PyO3 has only the `__setattr__` of the object's class")]
pub fn set_attribute(
    object: &Bound<'_, PyAny>,
    name: &Bound<'_, PyString>,
    value: &Bound<'_, PyAny>,
) -> PyResult<()> {
    // SAFETY: all three are live objects of this interpreter, to which this thread is attached. The
    // function takes no reference of ours, and returns -1 with an exception.
    let status =
        unsafe { ffi::PyObject_GenericSetAttr(object.as_ptr(), name.as_ptr(), value.as_ptr()) };
    if status == -1 { Err(PyErr::fetch(object.py())) } else { Ok(()) }
}
