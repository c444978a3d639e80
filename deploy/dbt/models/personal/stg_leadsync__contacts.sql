{{ config(enabled=var('leadsync_personal_data', false)) }}

select
    source || ':' || id as lead_key,
    source,
    id as lead_id,
    client_name,
    client_email,
    client_phone_number,
    client_address
from {{ source('leadsync_personal', 'v_leads') }}
