import type { Answer } from './answer.ts';
import type { Org } from './org.ts';
import type { Sessions } from './sessions.ts';

/** Answers `convertLead` of the SOAP API, which makes a contact of a lead. The REST API has no such call. */
export function answerSoap(org: Org, sessions: Sessions, body: string): Answer {
  const textOf = (name: string) => new RegExp(`<(?:\\w+:)?${name}>([^<]*)<`).exec(body)?.[1] ?? '';
  if (sessions.refuse({ authorization: `Bearer ${textOf('sessionId')}` }))
    return soap(500, '<faultcode>sf:INVALID_SESSION_ID</faultcode>');
  const leads = org.table('Lead');
  const lead = leads.get(textOf('leadId'));
  if (lead === undefined || lead.IsDeleted || lead['IsConverted'] === true)
    return soap(
      200,
      '<result><errors><statusCode>INVALID_CROSS_REFERENCE_KEY</statusCode></errors></result>',
    );
  const { LastName, FirstName, Email } = lead;
  const contact = org.table('Contact').insert({
    LastName: LastName ?? null,
    FirstName: FirstName ?? null,
    Email: Email ?? null,
  });
  const account = org.table('Account').insert({ Name: lead['Company'] ?? null });
  leads.update(lead, { IsConverted: true, ConvertedContactId: contact.Id });
  return soap(
    200,
    `<result><accountId>${account.Id}</accountId><contactId>${contact.Id}</contactId><success>true</success></result>`,
  );
}

function soap(status: number, content: string): Answer {
  return {
    status,
    headers: { 'content-type': 'text/xml;charset=UTF-8' },
    body: `<?xml version="1.0" encoding="UTF-8"?><Envelope><Body>${content}</Body></Envelope>`,
  };
}
