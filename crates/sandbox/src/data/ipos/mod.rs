//! IPO lists of the five markets (section 2.10): invented companies at every stage.

mod asia;
mod hong_kong;
mod mainland;
mod schedule;
mod united_states;

use serde::Serialize;

use crate::{
    markets::market::Market,
    wire::{
        arguments::Arguments,
        envelope::{HandlerResult, Rejection, rows},
    },
};
use schedule::{Ipo, Schedule};

/// The lists of all markets.
#[derive(Debug)]
pub struct Ipos {
    hk: Vec<Ipo<hong_kong::HkIpo>>,
    us: Vec<Ipo<united_states::UsIpo>>,
    cn: Vec<Ipo<mainland::CnIpo>>,
    sg: Vec<Ipo<asia::SgIpo>>,
    my: Vec<Ipo<asia::MyIpo>>,
}

impl Ipos {
    pub fn new(market: &Market) -> Self {
        let seed = market.seed;
        let schedule = Schedule { as_of: market.as_of, calendar: &market.calendar };
        Ipos {
            hk: hong_kong::list(seed, &schedule),
            us: united_states::list(seed, &schedule),
            cn: mainland::list(seed, &schedule),
            sg: asia::singapore(seed, &schedule),
            my: asia::malaysia(seed, &schedule),
        }
    }

    pub fn list(&self, arguments: &Arguments) -> HandlerResult {
        let request_type = arguments.integer("request_type");
        match arguments.text("market") {
            "hk" => Ok(chosen(arguments, &self.hk, request_type.unwrap_or(11))),
            "us" => Ok(chosen(arguments, &self.us, request_type.unwrap_or(11))),
            "cn" => Ok(chosen(arguments, &self.cn, request_type.unwrap_or(4))),
            "sg" => Ok(chosen(arguments, &self.sg, request_type.unwrap_or(11))),
            "my" => Ok(chosen(arguments, &self.my, request_type.unwrap_or(11))),
            other => Err(Rejection::invalid(format!(
                "market '{}' is not a known market; expected hk, us, cn, sg or my",
                other.escape_debug()
            ))),
        }
    }
}

fn chosen<I: Serialize>(arguments: &Arguments, ipos: &[Ipo<I>], request_type: i64) -> Vec<u8> {
    let items: Vec<&I> =
        ipos.iter().filter(|ipo| ipo.stage.is_in(request_type)).map(|ipo| &ipo.item).collect();
    rows(&arguments.endpoint, &items)
}
