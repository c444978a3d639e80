-- Leads that were there before leadsync first read their source are slow by nature, and say nothing.
with first_polls as (
    select
        source,
        min(started_at) as first_poll_at
    from {{ ref('stg_leadsync__polls') }}
    group by source
)

select
    to_char(d.created_day, 'YYYY-MM-DD') || ':' || d.source || ':' || d.service_slug || ':' || d.sink as speed_key,
    d.created_day,
    d.source,
    d.service_slug,
    d.sink,
    count(*) as leads,
    percentile_disc(0.5) within group (order by d.created_to_delivered_seconds) as p50_seconds,
    percentile_disc(0.9) within group (order by d.created_to_delivered_seconds) as p90_seconds,
    max(d.created_to_delivered_seconds) as slowest_seconds,
    percentile_disc(0.9) within group (order by d.seen_to_delivered_seconds) as p90_seen_to_delivered_seconds,
    count(*) filter (where d.created_to_delivered_seconds <= 60) as leads_within_a_minute
from {{ ref('stg_leadsync__first_deliveries') }} as d
inner join first_polls on d.source = first_polls.source and d.created_at >= first_polls.first_poll_at
group by d.created_day, d.source, d.service_slug, d.sink
