//! Listed names: public facts, with rough prices and lot sizes.

use Kind::{Etf, Index, Stock, Warrant};

/// The kind of a security.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Stock,
    Etf,
    Index,
    Warrant,
}

/// Code, English, Simplified and Traditional Chinese name, lot, rough price, kind.
pub type Row = (&'static str, &'static str, &'static str, &'static str, u32, f64, Kind);

/// Each market with its names.
pub const LISTED: &[(&str, &[Row])] = &[
    ("HK", HONG_KONG),
    ("US", UNITED_STATES),
    ("SH", SHANGHAI),
    ("SZ", SHENZHEN),
    ("SG", SINGAPORE),
    ("MY", MALAYSIA),
    ("JP", JAPAN),
    ("AU", AUSTRALIA),
    ("CA", CANADA),
];

const HONG_KONG: &[Row] = &[
    ("00700", "TENCENT", "腾讯控股", "騰訊控股", 100, 612.0, Stock),
    ("09988", "BABA-W", "阿里巴巴-W", "阿里巴巴-W", 100, 158.0, Stock),
    ("03690", "MEITUAN-W", "美团-W", "美團-W", 100, 102.0, Stock),
    ("01810", "XIAOMI-W", "小米集团-W", "小米集團-W", 200, 43.5, Stock),
    ("00005", "HSBC HOLDINGS", "汇丰控股", "匯豐控股", 400, 109.0, Stock),
    ("01299", "AIA", "友邦保险", "友邦保險", 200, 78.5, Stock),
    ("00388", "HKEX", "香港交易所", "香港交易所", 100, 418.0, Stock),
    ("00941", "CHINA MOBILE", "中国移动", "中國移動", 500, 86.0, Stock),
    ("00939", "CCB", "建设银行", "建設銀行", 1000, 7.85, Stock),
    ("01398", "ICBC", "工商银行", "工商銀行", 1000, 6.12, Stock),
    ("03988", "BANK OF CHINA", "中国银行", "中國銀行", 1000, 4.48, Stock),
    ("02318", "PING AN", "中国平安", "中國平安", 500, 55.8, Stock),
    ("00883", "CNOOC", "中国海洋石油", "中國海洋石油", 1000, 20.4, Stock),
    ("00857", "PETROCHINA", "中国石油股份", "中國石油股份", 2000, 7.92, Stock),
    ("01211", "BYD COMPANY", "比亚迪股份", "比亞迪股份", 500, 101.0, Stock),
    ("09618", "JD-SW", "京东集团-SW", "京東集團-SW", 50, 122.0, Stock),
    ("09999", "NTES-S", "网易-S", "網易-S", 100, 214.0, Stock),
    ("09888", "BIDU-SW", "百度集团-SW", "百度集團-SW", 50, 116.0, Stock),
    ("01024", "KUAISHOU-W", "快手-W", "快手-W", 100, 68.0, Stock),
    ("02020", "ANTA SPORTS", "安踏体育", "安踏體育", 200, 84.0, Stock),
    ("02269", "WUXI BIO", "药明生物", "藥明生物", 500, 33.6, Stock),
    ("00175", "GEELY AUTO", "吉利汽车", "吉利汽車", 1000, 17.4, Stock),
    ("00027", "GALAXY ENT", "银河娱乐", "銀河娛樂", 1000, 39.6, Stock),
    ("00016", "SHK PPT", "新鸿基地产", "新鴻基地產", 500, 96.0, Stock),
    ("00001", "CKH HOLDINGS", "长和", "長和", 500, 52.5, Stock),
    ("00002", "CLP HOLDINGS", "中电控股", "中電控股", 500, 66.5, Stock),
    ("00003", "HK & CHINA GAS", "香港中华煤气", "香港中華煤氣", 1000, 6.98, Stock),
    ("00011", "HANG SENG BANK", "恒生银行", "恒生銀行", 100, 119.0, Stock),
    ("00066", "MTR CORPORATION", "港铁公司", "港鐵公司", 500, 27.6, Stock),
    ("00669", "TECHTRONIC IND", "创科实业", "創科實業", 500, 98.5, Stock),
    ("00992", "LENOVO GROUP", "联想集团", "聯想集團", 2000, 10.5, Stock),
    ("01093", "CSPC PHARMA", "石药集团", "石藥集團", 2000, 8.16, Stock),
    ("02313", "SHENZHOU INTL", "申洲国际", "申洲國際", 100, 57.0, Stock),
    ("02382", "SUNNY OPTICAL", "舜宇光学科技", "舜宇光學科技", 100, 72.5, Stock),
    ("00823", "LINK REIT", "领展房产基金", "領展房產基金", 100, 41.2, Stock),
    ("00981", "SMIC", "中芯国际", "中芯國際", 500, 49.8, Stock),
    ("02800", "TRACKER FUND", "盈富基金", "盈富基金", 500, 26.4, Etf),
    ("03033", "CSOP HS TECH", "南方恒生科技", "南方恒生科技", 200, 5.62, Etf),
    ("800000", "Hang Seng Index", "恒生指数", "恒生指數", 1, 25800.0, Index),
    ("800700", "Hang Seng TECH Index", "恒生科技指数", "恒生科技指數", 1, 5700.0, Index),
    ("13579", "HS-TENCENT@EC2712A", "腾讯瑞信二七购A", "騰訊瑞信二七購A", 10000, 0.118, Warrant),
];

const UNITED_STATES: &[Row] = &[
    ("AAPL", "Apple", "苹果", "蘋果", 1, 268.4, Stock),
    ("MSFT", "Microsoft", "微软", "微軟", 1, 512.8, Stock),
    ("NVDA", "NVIDIA", "英伟达", "英偉達", 1, 188.2, Stock),
    ("AMZN", "Amazon", "亚马逊", "亞馬遜", 1, 234.7, Stock),
    ("GOOGL", "Alphabet-A", "谷歌-A", "谷歌-A", 1, 282.9, Stock),
    ("META", "Meta Platforms", "Meta Platforms", "Meta Platforms", 1, 621.5, Stock),
    ("TSLA", "Tesla", "特斯拉", "特斯拉", 1, 412.3, Stock),
    ("BRK.B", "Berkshire Hathaway-B", "伯克希尔-B", "巴郡-B", 1, 502.6, Stock),
    ("JPM", "JPMorgan", "摩根大通", "摩根大通", 1, 308.1, Stock),
    ("V", "Visa", "Visa", "Visa", 1, 336.9, Stock),
    ("UNH", "UnitedHealth", "联合健康", "聯合健康", 1, 331.2, Stock),
    ("XOM", "Exxon Mobil", "埃克森美孚", "埃克森美孚", 1, 117.6, Stock),
    ("JNJ", "Johnson & Johnson", "强生", "強生", 1, 194.3, Stock),
    ("PG", "Procter & Gamble", "宝洁", "寶潔", 1, 147.5, Stock),
    ("KO", "Coca-Cola", "可口可乐", "可口可樂", 1, 70.8, Stock),
    ("COST", "Costco", "好市多", "好市多", 1, 921.4, Stock),
    ("WMT", "Walmart", "沃尔玛", "沃爾瑪", 1, 102.9, Stock),
    ("AMD", "Advanced Micro Devices", "美国超微公司", "美國超微公司", 1, 241.7, Stock),
    ("INTC", "Intel", "英特尔", "英特爾", 1, 37.9, Stock),
    ("NFLX", "Netflix", "奈飞", "奈飛", 1, 112.4, Stock),
    ("DIS", "Disney", "迪士尼", "迪士尼", 1, 110.6, Stock),
    ("BA", "Boeing", "波音", "波音", 1, 196.3, Stock),
    ("PFE", "Pfizer", "辉瑞", "輝瑞", 1, 24.7, Stock),
    ("BABA", "Alibaba", "阿里巴巴", "阿里巴巴", 1, 163.8, Stock),
    ("PDD", "PDD Holdings", "拼多多", "拼多多", 1, 133.1, Stock),
    ("NIO", "NIO Inc", "蔚来", "蔚來", 1, 7.12, Stock),
    ("O", "Realty Income", "Realty Income", "Realty Income", 1, 57.3, Stock),
    ("SPY", "SPDR S&P 500 ETF", "标普500 ETF-SPDR", "標普500 ETF-SPDR", 1, 676.2, Etf),
    ("QQQ", "Invesco QQQ Trust", "纳指100 ETF", "納指100 ETF", 1, 612.9, Etf),
    (".SPX", "S&P 500 Index", "标普500指数", "標普500指數", 1, 6780.0, Index),
];

const SHANGHAI: &[Row] = &[
    ("600519", "KWEICHOW MOUTAI", "贵州茅台", "貴州茅台", 100, 1452.0, Stock),
    ("601318", "PING AN", "中国平安", "中國平安", 100, 58.2, Stock),
    ("600036", "CM BANK", "招商银行", "招商銀行", 100, 42.6, Stock),
    ("601398", "ICBC", "工商银行", "工商銀行", 100, 7.92, Stock),
    ("600276", "HENGRUI PHARMA", "恒瑞医药", "恆瑞醫藥", 100, 63.4, Stock),
    ("600900", "CYPC", "长江电力", "長江電力", 100, 28.1, Stock),
    ("601012", "LONGI", "隆基绿能", "隆基綠能", 100, 20.3, Stock),
    ("600030", "CITIC SEC", "中信证券", "中信證券", 100, 29.4, Stock),
    ("688981", "SMIC", "中芯国际", "中芯國際", 200, 121.6, Stock),
    ("688111", "KINGSOFT OFFICE", "金山办公", "金山辦公", 200, 318.0, Stock),
    ("510300", "HT CSI 300 ETF", "沪深300ETF", "滬深300ETF", 100, 4.74, Etf),
    ("000001", "SSE Composite Index", "上证指数", "上證指數", 1, 3990.0, Index),
];

const SHENZHEN: &[Row] = &[
    ("300750", "CATL", "宁德时代", "寧德時代", 100, 392.0, Stock),
    ("000858", "WULIANGYE", "五粮液", "五糧液", 100, 118.7, Stock),
    ("002594", "BYD", "比亚迪", "比亞迪", 100, 98.3, Stock),
    ("000333", "MIDEA GROUP", "美的集团", "美的集團", 100, 76.2, Stock),
    ("000651", "GREE", "格力电器", "格力電器", 100, 40.5, Stock),
    ("000001", "PING AN BANK", "平安银行", "平安銀行", 100, 11.6, Stock),
    ("002415", "HIKVISION", "海康威视", "海康威視", 100, 32.8, Stock),
    ("300059", "EASTMONEY", "东方财富", "東方財富", 100, 25.9, Stock),
    ("002475", "LUXSHARE", "立讯精密", "立訊精密", 100, 61.3, Stock),
    ("000725", "BOE", "京东方A", "京東方A", 100, 4.06, Stock),
    ("159915", "EFUND CHINEXT ETF", "创业板ETF", "創業板ETF", 100, 3.11, Etf),
    ("399001", "SZSE Component Index", "深证成指", "深證成指", 1, 13300.0, Index),
];

const SINGAPORE: &[Row] = &[
    ("D05", "DBS", "星展集团", "星展集團", 100, 54.1, Stock),
    ("O39", "OCBC Bank", "华侨银行", "華僑銀行", 100, 17.3, Stock),
    ("U11", "UOB", "大华银行", "大華銀行", 100, 34.6, Stock),
    ("Z74", "Singtel", "新电信", "新電信", 100, 4.52, Stock),
    ("C6L", "SIA", "新加坡航空", "新加坡航空", 100, 6.63, Stock),
    ("S68", "SGX", "新加坡交易所", "新加坡交易所", 100, 16.9, Stock),
    ("C38U", "CapLand IntCom T", "凯德综合商业信托", "凱德綜合商業信託", 100, 2.34, Stock),
    ("A17U", "CapLand Ascendas REIT", "凯德腾飞房托", "凱德騰飛房託", 100, 2.79, Stock),
    ("BN4", "Keppel", "吉宝有限公司", "吉寶有限公司", 100, 10.2, Stock),
    ("S63", "ST Engineering", "新科工程", "新科工程", 100, 8.41, Stock),
    ("G13", "Genting Sing", "云顶新加坡", "雲頂新加坡", 100, 0.735, Stock),
    ("Y92", "Thai Beverage", "泰国酿酒", "泰國釀酒", 100, 0.465, Stock),
    ("F34", "Wilmar Intl", "丰益国际", "豐益國際", 100, 3.02, Stock),
    ("9CI", "CapitaLandInvest", "凯德投资", "凱德投資", 100, 2.66, Stock),
    ("ES3", "STI ETF", "海峡时报指数ETF", "海峽時報指數ETF", 1, 4.55, Etf),
    (".STI", "Straits Times Index", "海峡时报指数", "海峽時報指數", 1, 4480.0, Index),
];

const MALAYSIA: &[Row] = &[
    ("1155", "MAYBANK", "马来亚银行", "馬來亞銀行", 100, 9.94, Stock),
    ("1023", "CIMB", "联昌国际", "聯昌國際", 100, 7.53, Stock),
    ("1295", "PBBANK", "大众银行", "大眾銀行", 100, 4.31, Stock),
    ("5347", "TENAGA", "国家能源", "國家能源", 100, 13.2, Stock),
    ("5183", "PCHEM", "国油石化", "國油石化", 100, 3.62, Stock),
    ("6947", "CDB", "天地通数码网络", "天地通數碼網絡", 100, 3.74, Stock),
    ("4863", "TM", "马电讯", "馬電訊", 100, 7.18, Stock),
    ("5225", "IHH", "IHH医疗保健", "IHH醫療保健", 100, 8.02, Stock),
    ("3182", "GENTING", "云顶", "雲頂", 100, 3.21, Stock),
    ("7113", "TOPGLOV", "顶级手套", "頂級手套", 100, 0.645, Stock),
    ("0166", "INARI", "益纳利美昌", "益納利美昌", 100, 2.16, Stock),
    ("5296", "MRDIY", "MR.DIY", "MR.DIY", 100, 1.58, Stock),
];

const JAPAN: &[Row] = &[
    ("7203", "TOYOTA MOTOR", "丰田汽车", "豐田汽車", 100, 3120.0, Stock),
    ("6758", "SONY GROUP", "索尼集团", "索尼集團", 100, 4410.0, Stock),
    ("9984", "SOFTBANK GROUP", "软银集团", "軟銀集團", 100, 19850.0, Stock),
    ("8306", "MITSUBISHI UFJ", "三菱日联金融", "三菱日聯金融", 100, 2380.0, Stock),
    ("9983", "FAST RETAILING", "迅销", "迅銷", 100, 55900.0, Stock),
    ("7974", "NINTENDO", "任天堂", "任天堂", 100, 13400.0, Stock),
];

const AUSTRALIA: &[Row] = &[
    ("BHP", "BHP Group", "必和必拓", "必和必拓", 1, 42.8, Stock),
    ("CBA", "Commonwealth Bank", "澳洲联邦银行", "澳洲聯邦銀行", 1, 161.2, Stock),
    ("CSL", "CSL Limited", "CSL", "CSL", 1, 181.5, Stock),
    ("NAB", "National Australia Bank", "澳洲国民银行", "澳洲國民銀行", 1, 42.1, Stock),
    ("WES", "Wesfarmers", "西农集团", "西農集團", 1, 82.6, Stock),
];

const CANADA: &[Row] = &[
    ("RY", "Royal Bank of Canada", "加拿大皇家银行", "加拿大皇家銀行", 1, 208.4, Stock),
    ("TD", "Toronto-Dominion Bank", "多伦多道明银行", "多倫多道明銀行", 1, 114.7, Stock),
    ("SHOP", "Shopify", "Shopify", "Shopify", 1, 214.9, Stock),
    ("ENB", "Enbridge", "安桥", "安橋", 1, 66.3, Stock),
    ("CNR", "Canadian National Railway", "加拿大国家铁路", "加拿大國家鐵路", 1, 134.8, Stock),
];
