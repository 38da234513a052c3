//! The extension module's own memory: a request takes a hundred small pieces of it on one thread,
//! which another one gives back. With the system's allocator that is a tenth of all its work.

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// On Linux it would take memory by the gigabyte as if all of it were in use, and give nothing back:
/// a frame of a million deals would keep 349 MB and not 213.
#[cfg(target_os = "linux")]
#[used]
#[expect(unsafe_code, reason = "before the first piece of memory is asked for")]
// SAFETY: the loader calls what stands in this section, once, on one thread, while it loads the
// module; and such a function it is.
#[unsafe(link_section = ".init_array")]
static AT_LOADING: extern "C" fn() = take_memory_as_needed;

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "a function of C's")]
extern "C" fn take_memory_as_needed() {
    /// Of `mi_option_t` in mimalloc.h of the second version.
    const ARENA_EAGER_COMMIT: libmimalloc_sys::mi_option_t = 4;
    // SAFETY: it sets a number in a table that is there from the start.
    unsafe { libmimalloc_sys::mi_option_set_enabled(ARENA_EAGER_COMMIT, false) }
}
