{{ config(enabled=var('leadsync_personal_data', false)) }}

select
    source || ':' || lead_id || ':' || position as answer_key,
    source || ':' || lead_id as lead_key,
    source,
    lead_id,
    position,
    slug as question_slug,
    question,
    answer
from {{ source('leadsync_personal', 'lead_answers') }}
