select
    source || ':' || lead_id || ':' || sink as first_delivery_key,
    source || ':' || lead_id as lead_key,
    source,
    lead_id,
    sink,
    service_slug,
    created_at,
    (created_at at time zone 'UTC')::date as created_day,
    first_seen_at,
    owed_at,
    is_backfill,
    delivered_at,
    created_to_seen_seconds,
    seen_to_delivered_seconds,
    created_to_delivered_seconds
from {{ source('leadsync', 'v_speed_to_lead') }}
