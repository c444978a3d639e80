select
    delivery_id,
    source || ':' || lead_id as lead_key,
    source,
    lead_id,
    lead_version,
    sink,
    state,
    reason,
    attempts,
    owed_at,
    next_attempt_at,
    settled_at as given_up_at
from {{ source('leadsync', 'v_undelivered') }}
