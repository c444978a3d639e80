/** A condition of a query: a field compared with a value, or with one of several. */
export interface Condition {
  readonly field: string;
  readonly operator: '=' | '!=' | '<' | '<=' | '>' | '>=' | 'in' | 'not in';
  readonly values: readonly (string | number | boolean | null)[];
}

/** A query of the shapes that the stub reads. */
export interface Soql {
  /** The fields in the order of the query; `count()` alone for `SELECT COUNT()`. */
  readonly fields: readonly string[];
  readonly object: string;
  /** All of them have to hold. */
  readonly conditions: readonly Condition[];
  readonly orderBy: { readonly field: string; readonly descending: boolean } | undefined;
  readonly limit: number | undefined;
}

/** A text that is no query, or none that the stub reads. */
export class MalformedQuery extends Error {}

/** Reads `SELECT … FROM … [WHERE … [AND …]] [ORDER BY … [ASC|DESC]] [LIMIT …]`. @throws MalformedQuery */
export function parseSoql(text: string): Soql {
  const tokens = new Tokens(text);
  tokens.keyword('select');
  const fields = [tokens.name()];
  while (tokens.takes(',')) fields.push(tokens.name());
  tokens.keyword('from');
  const object = tokens.name();
  const conditions: Condition[] = [];
  if (tokens.takes('where')) {
    do conditions.push(readCondition(tokens));
    while (tokens.takes('and'));
  }
  let orderBy: Soql['orderBy'];
  if (tokens.takes('order')) {
    tokens.keyword('by');
    const field = tokens.name();
    const descending = tokens.takes('desc') || (tokens.takes('asc') && false);
    orderBy = { field, descending };
  }
  const limit = tokens.takes('limit') ? Number(tokens.name()) : undefined;
  tokens.end();
  return { fields, object, conditions, orderBy, limit };
}

function readCondition(tokens: Tokens): Condition {
  const field = tokens.name();
  const isNegated = tokens.takes('not');
  if (tokens.takes('in')) {
    tokens.keyword('(');
    const values = [tokens.value()];
    while (tokens.takes(',')) values.push(tokens.value());
    tokens.keyword(')');
    return { field, operator: isNegated ? 'not in' : 'in', values };
  }
  const operator = (['=', '!=', '<=', '>=', '<', '>'] as const).find((one) => tokens.takes(one));
  if (isNegated || operator === undefined) throw new MalformedQuery(`unexpected token: '${tokens.next}'`);
  return { field, operator, values: [tokens.value()] };
}

const TOKEN = /\s*('(?:[^'\\]|\\.)*'|!=|<=|>=|[=<>(),]|[\w.]+(?:\(\))?|[^\s])/gy;

class Tokens {
  readonly #tokens: string[];

  constructor(text: string) {
    this.#tokens = [...text.trim().matchAll(TOKEN)].map(([, token = '']) => token);
  }

  get next(): string {
    return this.#tokens[0] ?? '<EOF>';
  }

  takes(word: string): boolean {
    if (this.next.toLowerCase() !== word) return false;
    this.#tokens.shift();
    return true;
  }

  keyword(word: string): void {
    if (!this.takes(word)) throw new MalformedQuery(`unexpected token: '${this.next}'`);
  }

  name(): string {
    if (!/^\w/.test(this.next)) throw new MalformedQuery(`unexpected token: '${this.next}'`);
    return this.#tokens.shift() ?? '';
  }

  value(): string | number | boolean | null {
    const token = this.#tokens.shift() ?? '';
    if (token.startsWith("'"))
      return token.slice(1, -1).replace(/\\(.)/g, (_, escaped: string) => UNESCAPED[escaped] ?? escaped);
    if (/^null$/i.test(token)) return null;
    if (/^(?:true|false)$/i.test(token)) return /^true$/i.test(token);
    if (/^-?\d+(?:\.\d+)?$/.test(token)) return Number(token);
    throw new MalformedQuery(`unexpected token: '${token}'`);
  }

  end(): void {
    if (this.#tokens.length > 0) throw new MalformedQuery(`unexpected token: '${this.next}'`);
  }
}

const UNESCAPED: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' };
