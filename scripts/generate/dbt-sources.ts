import { openToAnalysts, relations } from '../../src/catalog/catalog.ts';
import { type Column, commentOf, type Relation } from '../../src/catalog/relation.ts';

/** When a source counts as late. A failed poll says nothing about the age of the leads. */
const FRESHNESS = {
  loaded_at_field: 'finished_at',
  freshness: {
    warn_after: { count: 15, period: 'minute' },
    error_after: { count: 60, period: 'minute' },
    filter: "status in ('success', 'unchanged')",
  },
};

/** Returns `deploy/dbt/models/leadsync_sources.yml`: the tables of a sink of type postgres, as dbt sources with tests. */
export function dbtSources(): object {
  const open = ({ name }: Relation) => openToAnalysts.includes(name);
  const sources = [
    source(
      'leadsync',
      'Tables and views without personal data, which the role of analyst-role.sql can read.',
      relations.filter(open),
    ),
    source(
      'leadsync_personal',
      'All other tables and views. Needs rights on the tables; enabled with the variable leadsync_personal_data.',
      relations.filter((one) => !open(one)),
      { config: { enabled: "{{ var('leadsync_personal_data', false) }}" } },
    ),
  ];
  return { version: 2, sources };
}

function source(name: string, description: string, tables: readonly Relation[], more = {}): object {
  return {
    name,
    description,
    schema: "{{ var('leadsync_schema', 'leadsync') }}",
    loader: 'leadsync',
    ...more,
    tables: tables.map(table),
  };
}

function table(relation: Relation): object {
  const { name, key, columns } = relation;
  return {
    name,
    description: commentOf(relation),
    ...(name === 'polls' && { config: FRESHNESS }),
    columns: columns.map((column) => described(column, key)),
  };
}

function described({ name, means, values }: Column, key: readonly string[]): object {
  const tests = [
    ...(key.includes(name) ? ['not_null'] : []),
    ...(key.length === 1 && key[0] === name ? ['unique'] : []),
    ...(values ? [{ accepted_values: { arguments: { values } } }] : []),
  ];
  return { name, description: means, ...(tests.length > 0 && { data_tests: tests }) };
}
