import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parse } from 'yaml';

/** A data test of dbt: its name, or its name with arguments. */
export type DataTest =
  | string
  | Readonly<Record<string, { readonly arguments: Readonly<Record<string, unknown>> }>>;

interface Described {
  readonly name: string;
  readonly description: string;
  readonly columns: readonly {
    readonly name: string;
    readonly description: string;
    readonly data_tests?: readonly DataTest[];
  }[];
}

interface SourceTable extends Described {
  readonly config?: {
    readonly loaded_at_field: string;
    readonly freshness: { readonly filter: string };
  };
}

export interface Source {
  readonly name: string;
  readonly schema: string;
  readonly config?: { readonly enabled: string };
  readonly tables: readonly SourceTable[];
}

export interface Model extends Described {
  readonly sql: string;
  readonly isPersonal: boolean;
}

export const folder = join(import.meta.dirname, '../../deploy/dbt');

/** What in double braces stands for; everything else there is an error, as dbt would say it. */
export interface Names {
  source(source: string, table: string): string;
  ref(model: string): string;
}

const ENABLED = /^ config\(enabled=var\('leadsync_personal_data', false\)\) $/;

/** The package as dbt reads it. */
export function readDbtProject(): { sources: readonly Source[]; models: readonly Model[] } {
  const files = readdirSync(join(folder, 'models'), { recursive: true, encoding: 'utf8' });
  const properties = files.filter((file) => file.endsWith('.yml')).map((file) => parse(text(file)));
  const described: readonly Described[] = properties.flatMap(({ models = [] }) => models);
  const models = files.filter((file) => file.endsWith('.sql')).map((file) => modelOf(file, described));
  if (models.length !== described.length) throw new Error('a model is described that is not there');
  return { sources: properties.flatMap(({ sources = [] }) => sources), models };
}

/** A model's SQL as dbt would send it. @throws Error at what it would not understand */
export function compiled(sql: string, names: Names): string {
  return sql.replace(/\{\{(.*?)\}\}/gs, (_, inner: string) => {
    if (ENABLED.test(inner)) return '';
    const [, call, args = ''] = /^\s*(source|ref)\(([^)]*)\)\s*$/.exec(inner) ?? [];
    const [first = '', second = ''] = [...args.matchAll(/'([^']*)'/g)].map((match) => match[1] ?? '');
    if (call === 'source') return names.source(first, second);
    if (call === 'ref') return names.ref(first);
    throw new Error(`unknown expression: {{${inner}}}`);
  });
}

/** The models in an order in which each comes after those that it reads. */
export function inOrder(models: readonly Model[]): readonly Model[] {
  const done: Model[] = [];
  const add = (model: Model): void => {
    if (done.includes(model)) return;
    for (const [, name] of model.sql.matchAll(/ref\('([^']*)'\)/g)) {
      const found = models.find((one) => one.name === name);
      if (!found) throw new Error(`${model.name} reads ${name}, which is not there`);
      add(found);
    }
    done.push(model);
  };
  models.forEach(add);
  return done;
}

function modelOf(file: string, described: readonly Described[]): Model {
  const name = basename(file, '.sql');
  const found = described.find((one) => one.name === name);
  if (!found) throw new Error(`${file} is described nowhere`);
  return { ...found, sql: text(file), isPersonal: text(file).startsWith('{{ config(enabled=') };
}

function text(file: string): string {
  return readFileSync(join(folder, 'models', file), 'utf8');
}
