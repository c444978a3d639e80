import { z } from 'zod';
import { isPlainHttp } from '../../platform/http/address.ts';
import { duration, secret, size } from '../../platform/options/option-types.ts';

/** The options of one source, as written in the configuration, without its poll schedule. */
export const sourceOptions = z.strictObject({
  base_url: z
    .string()
    .superRefine((text, context) => {
      const fault =
        faultOfAddress(text) ?? (/[?#]/.test(text) ? 'must have no query and no fragment' : undefined);
      if (fault !== undefined) context.addIssue({ code: 'custom', message: fault });
    })
    .transform((text) => text.replace(/\/+$/, ''))
    .describe(
      'The base address of the service, such as https://leads.example.com. The paths below are appended to it.',
    ),
  client_id: z
    .string()
    .min(1, 'must not be empty')
    .describe('The OAuth client id of leadsync at the service.'),
  client_secret: secret().describe('The secret of the OAuth client.'),
  scope: z
    .string()
    .min(1, 'must not be empty; omit it to request no scope')
    .optional()
    .describe(
      'The scopes to request, separated by spaces. Absent: leadsync names none, and the service decides.',
    ),
  grant: z
    .enum(['client_credentials', 'authorization_code'])
    .optional()
    .describe(
      'How leadsync authenticates: `client_credentials`, as the client itself; `authorization_code`, as a person who has logged in (`leadsync login`). Absent: as the client until a person has logged in, and from then on as that person. leadsync never switches back to the client by itself.',
    ),
  leads_path: z
    .string()
    .regex(/^\/[^#\s]*$/, 'must begin with / and have no fragment or space')
    .default('/api/v1/leads')
    .describe(
      'The path of the listing. It may include a query string; leadsync never sees leads that the query string excludes.',
    ),
  token_path: path('/oauth/token').describe('The path of the token endpoint.'),
  authorize_path: path('/oauth/authorize').describe(
    'The path of the authorization page that `leadsync login` opens.',
  ),
  redirect_uri: z
    .string()
    .superRefine((text, context) => {
      const fault =
        faultOfAddress(text) ??
        (text.includes('#') ? 'must have no fragment' : undefined) ??
        (URL.parse(text)?.port === '0'
          ? 'must name the registered port; leave redirect_uri out for a free one'
          : undefined);
      if (fault !== undefined) context.addIssue({ code: 'custom', message: fault });
    })
    .optional()
    .describe(
      'The redirect URI of `leadsync login`, exactly as registered at the service. Absent: a free port on 127.0.0.1.',
    ),
  pagination: z
    .enum(['none', 'link', 'page'])
    .default('none')
    .describe(
      'How the service paginates the listing. `none`: one answer contains every lead. `link`: each answer names the next page in its Link header. `page`: leadsync requests numbered pages until a page is empty.',
    ),
  page_parameter: z
    .string()
    .min(1, 'must not be empty')
    .default('page')
    .describe('The query parameter for the page number; used with `pagination: page`.'),
  timeout: duration()
    .refine((ms) => ms > 0, 'must be more than 0')
    .prefault('30s')
    .describe(
      'Maximum wait for a connection, for the first byte of an answer, and between two parts of its body.',
    ),
  deadline: duration()
    .refine((ms) => ms > 0, 'must be more than 0')
    .prefault('10m')
    .describe('Maximum time to read one whole listing, including all of its pages.'),
  max_lead_size: size()
    .refine((bytes) => bytes >= 1024, 'must be 1kb or more')
    .prefault('8mb')
    .describe(
      'Maximum size of a lead. A larger lead is rejected, and only the beginning of its text is kept. Memory use grows with this size: see "Sizes and limits" in docs/operating.md.',
    ),
});

/** The validated options of a source: durations in ms, sizes in bytes, `base_url` without a trailing slash. */
export type SourceOptions = z.output<typeof sourceOptions>;

/** Returns one sentence for each option that is valid but probably unintended. */
export function sourceWarnings({ base_url, leads_path }: SourceOptions): readonly string[] {
  const plain =
    'base_url uses http:// and is not on this machine, so client_secret, tokens and leads cross the network unencrypted. Use https://.';
  const [path = ''] = leads_path.split('?');
  const twice = `base_url ends in ${path}, and leads_path is appended to it. Remove ${path} from base_url.`;
  return [
    ...(isPlainHttp(base_url) ? [plain] : []),
    ...(path !== '/' && base_url.endsWith(path) ? [twice] : []),
  ];
}

function path(standard: string) {
  return z
    .string()
    .regex(/^\/[^?#\s]*$/, 'must begin with / and have no query, fragment or space')
    .default(standard);
}

function faultOfAddress(text: string): string | undefined {
  const url = URL.parse(text);
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    return 'must be an http or https address such as https://leads.example.com';
  }
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or password';
  return undefined;
}
