"""SQL for the versions of fills: the versions that readers see, and the kind of each change.

A fill has a row of `fill_versions` for each version. A version belongs to a run, which is a
complete read, and may have been replaced by a later run.
"""

# The versions that readers see: versions of complete runs that no complete run has replaced. The
# sign keeps SQLite from using the index of the runs, which nearly all versions match.
CURRENT = "+f.run <= s.published and (f.replaced is null or f.replaced > s.published)"
# The kind of change that a version is.
CHANGE = (
    "coalesce((select case when o.replaced = f.run then 'changed' else 'back' end "
    "from fill_versions o where o.series = f.series and o.identity = f.identity "
    "and o.run < f.run order by o.run desc limit 1), 'new')"
)
# Versions that a run has replaced without having a version of the same fill.
IS_GONE = (
    "f.replaced is not null and not exists (select 1 from fill_versions n "
    "where n.series = f.series and n.identity = f.identity and n.run = f.replaced)"
)
# Each change of a fill, with the run that brought it.
EVENTS = (
    f"select f.series, f.run, f.updated, f.id, f.record, {CHANGE} as change from fill_versions f "
    "union all select f.series, f.replaced, f.updated, f.id, f.record, 'gone' "
    f"from fill_versions f where {IS_GONE}"
)
