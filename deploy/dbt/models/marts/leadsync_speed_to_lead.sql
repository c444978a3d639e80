-- Excludes leads of a first sync or a backfill: they are old on delivery.
select
    to_char(created_day, 'YYYY-MM-DD') || ':' || source || ':' || service_slug || ':' || sink as speed_key,
    created_day,
    source,
    service_slug,
    sink,
    count(*) as leads,
    count(*) filter (where state <> 'delivered') as leads_not_delivered,
    percentile_disc(0.5) within group (order by age_seconds) as p50_seconds,
    percentile_disc(0.9) within group (order by age_seconds) as p90_seconds,
    max(age_seconds) as slowest_seconds,
    percentile_disc(0.9) within group (order by extract(epoch from coalesce(delivered_at, now()) - first_seen_at)) as p90_seen_to_delivered_seconds,
    count(*) filter (where age_seconds <= 60 and state = 'delivered') as leads_within_a_minute
from {{ ref('stg_leadsync__arrivals') }}
where not is_backfill
group by created_day, source, service_slug, sink
