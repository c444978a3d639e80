import type { Answer } from './answer.ts';
import { failed, notFound } from './answer.ts';
import type { ApiUsage } from './api-usage.ts';
import { answerCollections } from './collections.ts';
import { answerCustomFields, mayNotCustomize } from './custom-fields.ts';
import type { Org } from './org.ts';
import { Queries } from './queries.ts';
import type { RestRequest } from './request.ts';
import type { Sessions } from './sessions.ts';
import { answerSingleRecords } from './single-records.ts';

/** The versions that the stub serves, newest first, with the releases that brought them. */
const VERSIONS = [
  { label: "Winter '27", version: 68 },
  { label: "Summer '26", version: 67 },
  { label: "Spring '26", version: 66 },
  { label: "Winter '26", version: 65 },
  { label: "Summer '25", version: 64 },
  { label: "Spring '25", version: 63 },
  { label: "Winter '25", version: 62 },
];

/** The oldest version that is not retired. */
const OLDEST = 31;

/** The REST API below `/services/data`. */
export class RestApi {
  readonly #org: Org;
  readonly #sessions: Sessions;
  readonly #usage: ApiUsage;
  readonly #queries: Queries;

  constructor(org: Org, sessions: Sessions, usage: ApiUsage) {
    this.#org = org;
    this.#sessions = sessions;
    this.#usage = usage;
    this.#queries = new Queries(org);
  }

  /** Answers `GET /services/data`, which needs no session. */
  answerVersions(): Answer {
    const body = VERSIONS.map(({ label, version }) => ({
      label,
      url: `/services/data/v${version}.0`,
      version: `${version}.0`,
    })).toReversed();
    return { status: 200, body };
  }

  answer(request: RestRequest): Answer {
    if (request.version < OLDEST)
      return failed(410, 'GONE', `REST API version v${request.version}.0 has been retired.`);
    if (request.version > (VERSIONS[0]?.version ?? 0)) return notFound();
    const refusal = this.#sessions.refuse(request.headers) ?? this.#usage.refuse();
    const answer = refusal ?? this.#route(request);
    if (refusal?.status === 401) return refusal;
    return { ...answer, headers: { 'sforce-limit-info': this.#usage.header, ...answer.headers } };
  }

  #route(request: RestRequest): Answer {
    const [resource, second, third] = request.path;
    if (resource === 'sobjects') return answerSingleRecords(this.#org, request);
    if (resource === 'composite' && second === 'sobjects') return answerCollections(this.#org, request);
    if (resource === 'query')
      return this.#queries.answer(request, second, (name) => this.#org.findTable(name));
    if (resource === 'limits') return this.#usage.answerLimits();
    if (resource === 'tooling' && second !== undefined)
      return this.#tooling({ ...request, path: request.path.slice(1) }, third);
    return notFound();
  }

  #tooling(request: RestRequest, object: string | undefined): Answer {
    if (request.path[0] === 'query')
      return this.#queries.answer(request, request.path[1], (name) =>
        name.toLowerCase() === 'customfield' ? this.#org.customFields : this.#org.findTable(name),
      );
    if (object !== 'CustomField') return answerSingleRecords(this.#org, request);
    if (!this.#org.settings.mayCustomize) return mayNotCustomize();
    return answerCustomFields(this.#org, request, request.path[2]);
  }
}
