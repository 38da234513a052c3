//! The success rate of attempts to save work, which cost some work themselves.

/// Tells if an attempt has succeeded often enough to be continued.
#[derive(Default)]
pub struct HitRate {
    pub attempts: u32,
    successes: u32,
}

impl HitRate {
    /// The number of attempts after which the rate of successes decides.
    const LENGTH: u32 = 256;

    #[inline(always)]
    pub fn is_worthwhile(&self) -> bool {
        self.attempts < Self::LENGTH || self.successes >= self.attempts / 4
    }

    #[inline(always)]
    pub fn record(&mut self, is_success: bool) {
        if self.attempts == u32::MAX {
            (self.attempts, self.successes) = (self.attempts / 2, self.successes / 2);
        }
        self.attempts += 1;
        self.successes += u32::from(is_success);
    }
}
