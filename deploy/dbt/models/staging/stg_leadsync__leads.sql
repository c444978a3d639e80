select
    source || ':' || id as lead_key,
    source,
    id as lead_id,
    service_slug,
    service_name,
    created_at,
    created_day,
    created_weekday,
    created_hour,
    has_email,
    has_phone,
    has_address,
    first_seen_at,
    client_key
from {{ source('leadsync', 'v_leads_no_pii') }}
