-- A SQLite archive of format 1, as the versions before 1.0 wrote it.
create table series (id integer primary key, account text not null, market text not null,
    published bigint not null default 0, position text, run_start bigint, run_end bigint,
    read_at bigint, overlap_read_at bigint, unique (account, market));
create table fill_versions (id integer primary key, series bigint not null, identity text not null,
    run bigint not null, replaced bigint, updated bigint not null, code text, record text not null,
    unique (series, identity, run));
create index fill_versions_by_time on fill_versions (series, updated desc, run desc);
create table coverage (series bigint not null, start_at bigint not null, end_at bigint not null,
    primary key (series, start_at));
create table followers (series bigint not null, name text not null, run bigint not null,
    updated bigint not null, version bigint not null, primary key (series, name));
create table lists (id integer primary key, list text not null, key text not null, read_at bigint,
    snapshot bigint, unique (list, key));
create table versions (list bigint not null, id bigint not null, seen_at bigint not null,
    change text not null, identity text not null, digest text not null, record text not null,
    primary key (list, id));
create table snapshots (list bigint not null, id bigint not null, seen_at bigint not null,
    primary key (list, id));
create table snapshot_records (list bigint not null, snapshot bigint not null,
    position bigint not null, version bigint not null, primary key (list, snapshot, position));
create table archive_format (version bigint not null);
insert into archive_format values (1);
insert into series values (1, '281756', 'HK', 1, null, null, null, 1790000001000000, null);
insert into fill_versions values (1, 1, '["1"]', 1, null, 1790000000000000, 'HK.00700',
    '{"deal_id":"1","code":"HK.00700","qty":"100","updated_time":1790000000000000}');
insert into coverage values (1, 1782224001000000, 1790000001000000);
insert into followers values (1, 'default', 1, 1790000000000000, 1);
insert into lists values (1, 'ipos', 'hk', 1790000001000000, 1);
insert into versions values (1, 1, 1790000001000000, 'new', '["HK.02799"]', 'x', '{"code":"HK.02799"}');
insert into snapshots values (1, 1, 1790000001000000);
insert into snapshot_records values (1, 1, 0, 1);
