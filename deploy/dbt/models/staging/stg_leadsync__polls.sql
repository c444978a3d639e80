select
    source || ':' || extract(epoch from started_at) as poll_key,
    source,
    started_at,
    finished_at,
    extract(epoch from finished_at - started_at) as duration_seconds,
    status,
    status in ('success', 'unchanged') as is_complete,
    leads_listed,
    leads_new,
    leads_changed,
    leads_rejected,
    bytes,
    http_status,
    error
from {{ source('leadsync', 'polls') }}
