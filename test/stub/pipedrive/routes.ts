/** What an operation costs of the daily budget (`x-token-cost` in the vendor's OpenAPI), and which burst limit counts it. */
export interface Route {
  readonly version: 'v1' | 'v2';
  readonly tokens: number;
  readonly isSearch?: boolean;
}

/** Every operation that the stub serves. */
export const routes = {
  'GET /itemSearch': { version: 'v2', tokens: 20, isSearch: true },
  'GET /persons/search': { version: 'v2', tokens: 20, isSearch: true },
  'GET /persons': { version: 'v2', tokens: 10 },
  'POST /persons': { version: 'v2', tokens: 5 },
  'GET /persons/{id}': { version: 'v2', tokens: 1 },
  'PATCH /persons/{id}': { version: 'v2', tokens: 5 },
  'DELETE /persons/{id}': { version: 'v2', tokens: 3 },
  'GET /leads': { version: 'v1', tokens: 20 },
  'GET /leads/archived': { version: 'v1', tokens: 40 },
  'POST /leads': { version: 'v1', tokens: 10 },
  'GET /leads/{id}': { version: 'v1', tokens: 2 },
  'PATCH /leads/{id}': { version: 'v1', tokens: 10 },
  'DELETE /leads/{id}': { version: 'v1', tokens: 6 },
  'GET /deals': { version: 'v2', tokens: 10 },
  'GET /deals/archived': { version: 'v2', tokens: 20 },
  'POST /deals': { version: 'v2', tokens: 5 },
  'GET /deals/{id}': { version: 'v2', tokens: 1 },
  'PATCH /deals/{id}': { version: 'v2', tokens: 5 },
  'DELETE /deals/{id}': { version: 'v2', tokens: 3 },
  'GET /notes': { version: 'v1', tokens: 20 },
  'POST /notes': { version: 'v1', tokens: 10 },
  'GET /notes/{id}': { version: 'v1', tokens: 2 },
  'DELETE /notes/{id}': { version: 'v1', tokens: 6 },
  'GET /dealFields': { version: 'v2', tokens: 10 },
  'POST /dealFields': { version: 'v2', tokens: 5 },
  'GET /dealFields/{field_code}': { version: 'v2', tokens: 1 },
  'DELETE /dealFields/{field_code}': { version: 'v2', tokens: 3 },
  'GET /personFields': { version: 'v2', tokens: 10 },
  'POST /personFields': { version: 'v2', tokens: 5 },
  'GET /personFields/{field_code}': { version: 'v2', tokens: 1 },
  'DELETE /personFields/{field_code}': { version: 'v2', tokens: 3 },
  'GET /pipelines': { version: 'v2', tokens: 5 },
  'GET /stages': { version: 'v2', tokens: 5 },
  'GET /leadLabels': { version: 'v1', tokens: 10 },
  'GET /leadSources': { version: 'v1', tokens: 2 },
  'GET /users': { version: 'v1', tokens: 20 },
  'GET /users/me': { version: 'v1', tokens: 2 },
} as const satisfies Record<string, Route>;

/** An operation, as the documentation writes it, without the prefix of its version. */
export type RouteName = keyof typeof routes;

/** A path that was recognized, with the last segment in place of `{id}` or `{field_code}`. */
export interface Matched {
  readonly name: RouteName;
  readonly id: string;
}

const METHODS = ['GET', 'POST', 'PATCH', 'PUT', 'DELETE'];

/**
 * Returns the operation of a request; `wrong-method` if the path has others, and undefined if there is nothing at the path. v1 is served at
 * `/v1/` as well, v2 only at `/api/v2/`, as the vendor does.
 */
export function matchRoute(method: string, pathname: string): Matched | 'wrong-method' | undefined {
  const [, version, path = ''] = /^(?:\/api)?\/(v1|v2)\/(.+)$/.exec(pathname) ?? [];
  if (version === undefined || (version === 'v2' && !pathname.startsWith('/api/'))) return undefined;
  const found = find(method, path, version);
  if (found) return found;
  return METHODS.some((other) => find(other, path, version)) ? 'wrong-method' : undefined;
}

function find(method: string, path: string, version: string): Matched | undefined {
  const [first = '', second, ...rest] = path.split('/');
  if (rest.length > 0) return undefined;
  const names =
    second === undefined
      ? [`${method} /${first}`]
      : [`${method} /${first}/${second}`, `${method} /${first}/{id}`, `${method} /${first}/{field_code}`];
  const name = names.find((candidate) => isRoute(candidate, version));
  return name === undefined ? undefined : { name: name as RouteName, id: decodeURIComponent(second ?? '') };
}

function isRoute(name: string, version: string): boolean {
  return Object.hasOwn(routes, name) && routes[name as RouteName].version === version;
}
