//! How each endpoint is offered to users of Python and of the command line: the notes and the example of its
//! method, its command, and the columns for a narrow terminal.

use boardlot_client::extension::api::Endpoint;

/// The method of the clients that calls an endpoint, and the command that calls the method. The names of the
/// method and of its arguments are those of the endpoint.
#[derive(Debug, Clone, Copy)]
pub struct Method {
    /// The name of the endpoint.
    pub endpoint: &'static str,
    /// Sentences that follow the endpoint's notes in the docstring; may be empty.
    pub notes: &'static str,
    /// The required arguments of the example, in their order. The docstring shows it, and tests run it against
    /// a sandbox with seed 7.
    pub arguments: &'static [ExampleArgument],
    /// The example, a Python expression; `{}` stands for the call. That of an asynchronous pager is derived
    /// from `next({})` or `{}.all(...)`.
    pub expression: &'static str,
    /// The value of the expression.
    pub result: &'static str,
    /// The name of the command: `trading-days`.
    pub command: &'static str,
    /// Command lines for its help.
    pub command_lines: &'static [&'static str],
    /// The columns for a terminal that is too narrow for all, the most important first, with spaces between;
    /// may be empty.
    pub key_columns: &'static str,
}

/// One argument of an example.
#[derive(Debug, Clone, Copy)]
pub enum ExampleArgument {
    /// A text.
    Text(&'static str),
    /// The first account of this kind in the sandbox.
    Account(&'static str),
}

/// The method of this endpoint.
pub fn method_of(endpoint: &Endpoint) -> Option<&'static Method> {
    METHODS.iter().find(|method| method.endpoint == endpoint.name)
}

/// The endpoint's notes with those of its method, for docstrings and docs.
pub fn notes(endpoint: &Endpoint) -> String {
    let of_method = method_of(endpoint).map_or("", |method| method.notes);
    [endpoint.notes, of_method].join(" ").trim().to_owned()
}

const BASE: Method = Method {
    endpoint: "",
    notes: "",
    arguments: &[],
    expression: "",
    result: "",
    command: "",
    command_lines: &[],
    key_columns: "",
};

/// A method for each endpoint, in the same order.
pub const METHODS: &[Method] = &[
    Method {
        endpoint: "server_time",
        expression: "str({}.tzinfo)",
        result: "'UTC'",
        command: "time",
        command_lines: &["boardlot --base-url https://api.example.com time"],
        ..BASE
    },
    Method {
        endpoint: "trading_days",
        arguments: &[
            ExampleArgument::Text("HK"),
            ExampleArgument::Text("2026-01-01"),
            ExampleArgument::Text("2026-01-05"),
        ],
        expression: "[day[\"time\"] for day in {}]",
        result: "['2026-01-02', '2026-01-05']",
        command: "trading-days",
        command_lines: &[
            "boardlot --profile live trading-days HK 2026-01-01 2026-01-31",
            "boardlot --profile live trading-days US 2026-01-01 2026-12-31 --out days.csv",
        ],
        ..BASE
    },
    Method {
        endpoint: "reference_futures",
        arguments: &[ExampleArgument::Text("HK.HSImain")],
        expression: "{}[0][\"stock_type\"]",
        result: "'FUTURE'",
        command: "futures",
        command_lines: &["boardlot --profile live futures HK.HSImain"],
        key_columns: "code stock_name lot_size future_main_contract future_last_trade_time",
        ..BASE
    },
    Method {
        endpoint: "ipo_list",
        arguments: &[ExampleArgument::Text("us")],
        expression: "{}[0][\"stock_status\"] in list(bl.UsIpoStatus)",
        result: "True",
        command: "ipos",
        command_lines: &[
            "boardlot --profile live ipos hk",
            "boardlot --profile live ipos cn --request-type ballot-announced",
            "boardlot --profile live ipos us --format json --columns code,name,list_time",
        ],
        key_columns: "code name list_time ipo_price offer_price_display ipo_price_min \
                      ipo_price_max currency winning_ratio stock_status apply_timestamp \
                      apply_end_timestamp",
        ..BASE
    },
    Method {
        endpoint: "dividends",
        notes: "`.meta` has `total_dividend_count` and `total_dividend_money` (reporting \
                currency).",
        arguments: &[ExampleArgument::Text("HK.00700")],
        expression: "{}[0][\"currency\"]",
        result: "'HKD'",
        command: "dividends",
        command_lines: &[
            "boardlot --profile live dividends HK.00700",
            "boardlot --profile live dividends US.AAPL --out apple.parquet",
        ],
        key_columns: "fiscal_year dividend_per_share currency ex_date process",
    },
    Method {
        endpoint: "plate_stocks",
        notes: "The service's documentation shows a request header `X-Service-Client-Nnid` in its \
                examples without saying whether it is required: pass it with \
                `Client(headers=...)`.",
        arguments: &[ExampleArgument::Text("HK.BK1001")],
        expression: "next({})[\"code\"].startswith(\"HK.\")",
        result: "True",
        command: "plate",
        command_lines: &[
            "boardlot --profile live plate HK.BK1001 --format jsonl | head",
            "boardlot --profile live plate HK.BK1001 --header 'X-Service-Client-Nnid: 123'",
        ],
        key_columns: "code stock_name sc_name stock_type lot_size",
    },
    Method {
        endpoint: "crypto_orders",
        arguments: &[ExampleArgument::Account("crypto")],
        expression: "next({})[\"ord_status\"] in list(bl.CryptoOrderStatus)",
        result: "True",
        command: "crypto-orders",
        command_lines: &["boardlot --profile live crypto-orders 1001001 --format jsonl"],
        key_columns: "symbol_pair side order_qty price cum_qty ord_type ord_status order_id",
        ..BASE
    },
    Method {
        endpoint: "sim_orders",
        arguments: &[ExampleArgument::Account("sim")],
        expression: "{}[0][\"side\"] in list(bl.SimSide)",
        result: "True",
        command: "sim-orders",
        command_lines: &["boardlot --profile live sim-orders 5001"],
        key_columns: "symbol side order_type status qty cum_qty price create_time",
        ..BASE
    },
    Method {
        endpoint: "sim_positions",
        arguments: &[ExampleArgument::Account("sim")],
        expression: "{}[0][\"pstn_type\"] in list(bl.PositionType)",
        result: "True",
        command: "sim-positions",
        command_lines: &[
            "boardlot --profile live sim-positions 5001 --columns symbol,qty,cost_price,profit",
        ],
        key_columns: "symbol pstn_type qty cost_price cur_price mv profit_ratio stock_name",
        ..BASE
    },
    Method {
        endpoint: "fills_history",
        notes: "The time range is fixed before the first page; the pager's `.range` returns it.",
        arguments: &[ExampleArgument::Account("trade"), ExampleArgument::Text("HK")],
        expression: "len({}.all(max_items=75))",
        result: "75",
        command: "fills",
        command_lines: &[
            "boardlot --profile live fills 281756 HK | head",
            "boardlot --profile live fills 281756 HK --start 2026-01-01 --out fills.parquet",
            "boardlot --profile live fills 281756 HK --windows 8 --out fills.jsonl",
            "boardlot --profile live fills 281756 HK --out fills.csv --resume fills.checkpoint",
        ],
        key_columns: "create_time code trd_side qty price status counter_broker_name",
    },
];

#[cfg(test)]
mod tests {
    use boardlot_client::extension::api::{ENDPOINTS, ResponseShape};

    use super::*;

    #[test]
    fn each_endpoint_has_one_method_in_the_order_of_the_endpoints() {
        let endpoints: Vec<&str> = ENDPOINTS.iter().map(|endpoint| &*endpoint.name).collect();
        let methods: Vec<&str> = METHODS.iter().map(|method| method.endpoint).collect();
        assert_eq!(methods, endpoints);
    }

    #[test]
    fn no_two_methods_have_the_same_command() {
        let mut commands = std::collections::HashSet::new();
        for method in METHODS {
            assert!(commands.insert(method.command), "{}", method.command);
        }
    }

    #[test]
    fn every_method_has_an_example_of_its_required_arguments() {
        for endpoint in ENDPOINTS {
            let method = method_of(endpoint).expect("a method");
            let required = endpoint.arguments().filter(|parameter| parameter.required).count();
            assert_eq!(method.arguments.len(), required, "{}", endpoint.name);
            assert!(method.expression.contains("{}"), "{}", endpoint.name);
            assert!(!method.result.is_empty(), "{}", endpoint.name);
        }
    }

    #[test]
    fn every_command_line_has_its_command() {
        for method in METHODS {
            let words = format!(" {} ", method.command);
            let has_command = |line: &&str| format!("{line} ").contains(&words);
            assert!(!method.command_lines.is_empty(), "{}", method.command);
            assert!(method.command_lines.iter().all(has_command), "{}", method.command);
        }
    }

    #[test]
    fn key_columns_are_fields_of_a_record() {
        for endpoint in ENDPOINTS {
            let ResponseShape::Rows(_, schema) = &endpoint.response else { continue };
            let fields: Vec<&str> = schema
                .records()
                .iter()
                .flat_map(|record| record.fields())
                .map(|field| field.name.as_ref())
                .collect();
            let method = method_of(endpoint).expect("a method");
            for column in method.key_columns.split_whitespace() {
                // An undocumented record declares no fields.
                assert!(fields.is_empty() || fields.contains(&column), "{column}");
            }
        }
    }
}
