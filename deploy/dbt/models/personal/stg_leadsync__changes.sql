{{ config(enabled=var('leadsync_personal_data', false)) }}

select
    v.source || ':' || v.lead_id || ':' || v.version || ':' || changed.field as change_key,
    v.source || ':' || v.lead_id as lead_key,
    v.source,
    v.lead_id,
    v.version,
    v.valid_from as changed_at,
    changed.field
from {{ source('leadsync_personal', 'lead_versions') }} as v
cross join lateral json_array_elements_text(v.changed_fields) as changed (field)
