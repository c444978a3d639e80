import { CONFIG_HEAD } from './new-config.ts';

/** A commented configuration to begin with. Valid once the variables in it are set. */
export function exampleConfig(): string {
  return EXAMPLE;
}

const EXAMPLE = `${CONFIG_HEAD}
sources:
  main:                              # a name of your choice: it is in every log line, metric and table
    base_url: https://leads.example.com
    client_id: \${LEADS_CLIENT_ID}
    client_secret: \${LEADS_CLIENT_SECRET}   # or  { file: /run/secrets/leads }
    poll:
      every: 30s

sinks:
  drop:                              # complete CSV files, made when 1000 leads wait or the oldest has waited 5 minutes
    type: csv
    directory: ./drop
    batch: { max: 1000, wait: 5m }
  # crm:                             # one signed request per lead
  #   type: webhook
  #   url: https://crm.example.com/hooks/leads
  #   secret: \${CRM_WEBHOOK_SECRET}  # echo "whsec_$(openssl rand -base64 32)" makes one
  # lake:                            # Parquet files, in a folder for each day
  #   type: parquet
  #   directory: ./lake
  # warehouse:                       # tables leads and lead_answers
  #   type: postgres
  #   url: \${DATABASE_URL}
`;
