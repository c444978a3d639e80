/** A folder inside a room: the folders of the same room that its files may import, and why no others. `.` is the room's own files. */
interface InnerRoom {
  readonly imports: readonly string[];
  readonly because: string;
}

/** The plan of the folders inside the large rooms, by room and folder: `test/boundaries.test.ts` holds it against every import. */
export const innerRooms: Readonly<Record<string, Readonly<Record<string, InnerRoom>>>> = {
  ledger: {
    contract: {
      imports: [],
      because:
        'ledger/contract/ says what others may ask of a ledger; it must not know how any of it is done.',
    },
    rules: {
      imports: ['contract'],
      because:
        'ledger/rules/ is what every engine decides in the same way; it must not know how anything is stored.',
    },
    schema: {
      imports: ['contract'],
      because:
        'ledger/schema/ is the tables, the views and the migrations; it must not know who reads or writes them.',
    },
    database: {
      imports: ['contract', 'rules', 'schema'],
      because: 'ledger/database/ is the file and its transactions; it must not know what a lead is owed.',
    },
    privacy: {
      imports: ['contract', 'database', 'rules', 'schema'],
      because:
        'ledger/privacy/ takes persons and old contents out; it must not know who asks for what is left.',
    },
    queries: {
      imports: ['contract', 'database', 'privacy', 'rules', 'schema'],
      because: 'ledger/queries/ only reads; what it imports must not write what polls and deliveries write.',
    },
    delivering: {
      imports: ['contract', 'database', 'privacy', 'queries', 'rules', 'schema'],
      because:
        'ledger/delivering/ is what is owed, claimed and settled; it must not know how a listing is recorded.',
    },
    control: {
      imports: ['contract', 'database', 'delivering', 'privacy', 'queries', 'rules', 'schema'],
      because:
        'ledger/control/ is what operators and configurations change; it must not know how a listing is recorded or an attempt made.',
    },
    recording: {
      imports: ['contract', 'database', 'delivering', 'rules'],
      because: 'ledger/recording/ takes in a listing, and owes what is new in the same transaction.',
    },
    extraction: {
      imports: ['contract', 'database', 'rules', 'schema'],
      because: 'ledger/extraction/ reads whole tables for exports and queries, over a connection of its own.',
    },
    copying: {
      imports: ['contract', 'database', 'rules', 'schema'],
      because:
        'ledger/copying/ reads and writes whole tables to copy a ledger, while no process works with it; it must not know what a row means.',
    },
    '.': {
      imports: [
        'contract',
        'control',
        'database',
        'privacy',
        'queries',
        'delivering',
        'recording',
        'rules',
        'schema',
      ],
      because: 'The files of ledger/ itself put the ledger together; begin at sqlite-ledger.ts.',
    },
    thread: {
      imports: ['contract', '.'],
      because: 'ledger/thread/ asks a ledger in another thread; it must not know what the questions mean.',
    },
    recovery: {
      imports: ['contract', 'database', 'privacy', 'delivering', 'rules', 'thread', 'schema'],
      because:
        'ledger/recovery/ makes a new ledger of what can be read of a damaged one, while none is open.',
    },
  },
  'ledger-postgres': {
    schema: {
      imports: [],
      because:
        'ledger-postgres/schema/ is the tables, the views and the migrations; it must not know who reads or writes them.',
    },
    database: {
      imports: ['schema'],
      because:
        'ledger-postgres/database/ is connections, transactions and the rows of sinks; it must not know what a lead is owed.',
    },
    delivering: {
      imports: ['database', 'queries', 'schema'],
      because:
        'ledger-postgres/delivering/ is what is owed, claimed and settled; it must not know how a listing is recorded.',
    },
    control: {
      imports: ['database', 'delivering', 'queries', 'schema'],
      because:
        'ledger-postgres/control/ is what operators and configurations change; it must not know how a listing is recorded or an attempt made.',
    },
    recording: {
      imports: ['database', 'delivering'],
      because: 'ledger-postgres/recording/ takes in a listing, and owes what is new in the same transaction.',
    },
    privacy: {
      imports: ['database', 'delivering', 'schema'],
      because:
        'ledger-postgres/privacy/ takes persons and old contents out; it must not know who asks for what is left.',
    },
    queries: {
      imports: ['database', 'schema'],
      because: 'ledger-postgres/queries/ only reads.',
    },
    machines: {
      imports: ['database'],
      because:
        'ledger-postgres/machines/ is processes and duties; it must not know what a process does while it holds one.',
    },
    installation: {
      imports: ['database'],
      because:
        'ledger-postgres/installation/ keeps what an installation has beside its leads; it must not know a lead.',
    },
    copying: {
      imports: ['.', 'database', 'schema'],
      because:
        'ledger-postgres/copying/ reads and writes whole tables to copy a ledger, while no process works with it; it must not know what a row means.',
    },
    extraction: {
      imports: ['.', 'database'],
      because: 'ledger-postgres/extraction/ reads whole tables for exports, over connections of its own.',
    },
    '.': {
      imports: [
        'control',
        'database',
        'delivering',
        'installation',
        'machines',
        'privacy',
        'recording',
        'queries',
        'schema',
      ],
      because: 'The files of ledger-postgres/ itself put the ledger together; begin at postgres-ledger.ts.',
    },
  },
  cli: {
    shell: {
      imports: [],
      because:
        'cli/shell/ is what every command has of its terminal, its failures and its exit; it must not know any command.',
    },
    arguments: {
      imports: ['shell'],
      because:
        'cli/arguments/ reads what several commands are given: filters, ids, times, names; it must not know any command.',
    },
    running: {
      imports: ['shell', 'arguments'],
      because: 'cli/running/ asks the leadsync that runs; it must not know what for.',
    },
    views: {
      imports: ['shell'],
      because: 'cli/views/ turns what is known into text; it must not know where that comes from.',
    },
    query: {
      imports: ['shell', 'arguments'],
      because: 'cli/query/ answers SQL in a process of its own; it must not know any other command.',
    },
    init: {
      imports: ['shell'],
      because: 'cli/init/ asks what a first configuration needs; it must not know any other command.',
    },
    'support-bundle': {
      imports: ['shell', 'running', 'views'],
      because: 'cli/support-bundle/ collects what helps to find a fault; it must not know any other command.',
    },
    completion: {
      imports: ['shell'],
      because:
        'cli/completion/ writes scripts for shells from the tree of commands; it must not load any of them.',
    },
    commands: {
      imports: [
        'shell',
        'arguments',
        'running',
        'views',
        'query',
        'init',
        'support-bundle',
        'completion',
        '.',
      ],
      because: 'A command is a file of cli/commands/; it must not import another command.',
    },
    '.': {
      imports: ['shell', 'arguments', 'completion', 'commands'],
      because: 'The files of cli/ itself find the command and run it; begin at command-line.ts.',
    },
  },
  source: {
    contract: {
      imports: [],
      because:
        'source/contract/ says what a source is and what can be set; it must not know how one is read.',
    },
    http: {
      imports: ['contract'],
      because: 'source/http/ is one call of the service; it must not know what is called for.',
    },
    auth: {
      imports: ['contract', 'http'],
      because: 'source/auth/ gets tokens and renews them; it must not know what they open.',
    },
    listing: {
      imports: ['contract', 'http', 'auth'],
      because: 'source/listing/ reads the listing in blocks; it must not know what becomes of its leads.',
    },
    '.': {
      imports: ['contract', 'auth', 'listing', 'http'],
      because: 'The file of source/ itself puts a source together.',
    },
  },
  'sinks/mysql': {
    sql: {
      imports: [],
      because: 'sinks/mysql/sql/ spells names and values for MySQL; it must not know any table.',
    },
    connection: {
      imports: ['sql'],
      because:
        'sinks/mysql/connection/ runs transactions and judges their errors; it must not know any table.',
    },
    schema: {
      imports: ['connection', 'sql'],
      because:
        'sinks/mysql/schema/ creates tables and verifies those that exist; it must not know who writes rows.',
    },
    leads: {
      imports: ['connection', 'schema', 'sql'],
      because: 'sinks/mysql/leads/ writes, finds and erases leads; it must not know how leads are delivered.',
    },
    '.': {
      imports: ['connection', 'schema', 'leads', 'sql'],
      because: 'The file of sinks/mysql/ itself, mysql.ts, is the sink; begin there.',
    },
  },
  'sinks/postgres': {
    connection: {
      imports: [],
      because:
        'sinks/postgres/connection/ runs transactions and judges their errors; it must not know any table.',
    },
    schema: {
      imports: [],
      because:
        'sinks/postgres/schema/ creates and migrates tables, views and comments; it must not know who writes rows.',
    },
    leads: {
      imports: ['connection'],
      because: 'sinks/postgres/leads/ writes, finds and erases leads; it must not know the mirror.',
    },
    mirror: {
      imports: ['connection', 'schema', 'leads'],
      because:
        'sinks/postgres/mirror/ copies the history of a ledger; it must not know how leads are delivered.',
    },
    '.': {
      imports: ['connection', 'schema', 'leads', 'mirror'],
      because: 'The file of sinks/postgres/ itself, postgres.ts, is the sink; begin there.',
    },
  },
  daemon: {
    duties: {
      imports: [],
      because:
        'daemon/duties/ says which work this process does for the whole installation, and which other processes are alive; it must not know what that work is.',
    },
    joints: {
      imports: ['duties'],
      because:
        'daemon/joints/ joins two rooms in a short function each; it must not know what starts or stops it.',
    },
    start: {
      imports: ['duties', 'joints'],
      because: 'daemon/start/ opens the parts in their order; it must not know what is built of them.',
    },
    units: {
      imports: ['duties', 'joints', 'start'],
      because:
        'daemon/units/ runs a source or a sink as one, and exchanges it on a reload; it must not know who asks.',
    },
    upkeep: {
      imports: [],
      because: 'daemon/upkeep/ tidies in the background; it must not know any source or sink.',
    },
    watching: {
      imports: ['start', 'units'],
      because: 'daemon/watching/ looks for what changes outside; what follows from it is done by others.',
    },
    api: {
      imports: ['start', 'units'],
      because: 'daemon/api/ answers what admin/ asks; it must not know how pages look.',
    },
    '.': {
      imports: ['joints', 'start', 'units', 'upkeep', 'watching', 'api'],
      because: 'The file of daemon/ itself, daemon.ts, starts and stops everything; begin there.',
    },
  },
  operations: {
    opening: {
      imports: [],
      because:
        'operations/opening/ opens what an operation works on; it must not know what it is opened for.',
    },
    planning: {
      imports: [],
      because: 'operations/planning/ compares configurations; it must not know ledgers or commands.',
    },
    '.': {
      imports: ['opening', 'planning'],
      because: 'An operation is a file of operations/; it must not know how a person is erased.',
    },
    erasure: {
      imports: ['opening', '.'],
      because: 'operations/erasure/ takes a person out everywhere; it must not know any command.',
    },
    restoring: {
      imports: ['opening', 'erasure'],
      because: 'operations/restoring/ puts a backup in place; it must not know any command.',
    },
    copying: {
      imports: ['opening'],
      because: 'operations/copying/ copies a ledger from one place to another; it must not know any command.',
    },
  },
  config: {
    contract: {
      imports: [],
      because:
        'config/contract/ says what a valid configuration is, and what a fault; it must not know how one is read.',
    },
    faults: {
      imports: ['contract'],
      because: 'config/faults/ collects and words what is wrong; it must not know which options there are.',
    },
    options: {
      imports: ['contract', 'faults'],
      because: 'config/options/ is the schemas; it must not know the file in which the values stand.',
    },
    reading: {
      imports: ['contract', 'faults', 'options'],
      because: 'config/reading/ makes a configuration of YAML; it must not know what for.',
    },
    changes: {
      imports: ['contract'],
      because: 'config/changes/ compares two configurations; it must not know how either was read.',
    },
    initial: {
      imports: [],
      because: 'config/initial/ writes a configuration to begin with; it must not read one.',
    },
    '.': {
      imports: ['contract', 'faults', 'options', 'reading'],
      because: 'The files of config/ itself read a file as a whole; begin at load-config.ts.',
    },
  },
  exports: {
    contract: {
      imports: [],
      because:
        'exports/contract/ says what an export is and how one fails; it must not know how one is made.',
    },
    destinations: {
      imports: ['contract'],
      because: 'exports/destinations/ puts files into a directory or S3; it must not know what is in them.',
    },
    files: {
      imports: ['contract'],
      because: 'exports/files/ turns rows into a file and back; it must not know where the file goes.',
    },
    '.': {
      imports: ['contract', 'destinations', 'files'],
      because:
        'The files of exports/ itself make one export from end to end; begin at start-export-process.ts.',
    },
  },
  platform: {
    time: {
      imports: [],
      because: 'platform/time/ is clocks, deadlines and moments; it must not know what waits for them.',
    },
    failures: {
      imports: [],
      because: 'platform/failures/ words what the system refused; it must not know what was tried.',
    },
    process: {
      imports: [],
      because: 'platform/process/ is this process and its program; it must not know what runs in it.',
    },
    text: {
      imports: [],
      because: 'platform/text/ writes and reads text; it must not know what the text is about.',
    },
    http: {
      imports: ['time'],
      because: 'platform/http/ is addresses, headers and requests; it must not know who calls whom.',
    },
    mail: {
      imports: ['http'],
      because: 'platform/mail/ is connections to mail servers; it must not know what is in a mail.',
    },
    files: {
      imports: ['time', 'failures', 'process'],
      because: 'platform/files/ is files, folders and locks on them; it must not know what is in them.',
    },
    options: {
      imports: ['failures', 'files'],
      because: 'platform/options/ is the kinds of options and secrets; it must not know any option.',
    },
  },
  status: {
    problems: {
      imports: ['.'],
      because:
        'status/problems/ finds what is wrong, for status and alerts; it must not know the JSON in which they are sent.',
    },
    '.': {
      imports: ['problems'],
      because: 'The files of status/ itself turn the state into views and JSON; begin at status-view.ts.',
    },
  },
  admin: {
    contract: {
      imports: [],
      because: 'admin/contract/ defines the operations, their data and their errors; it must not know HTTP.',
    },
    http: {
      imports: ['contract'],
      because:
        'admin/http/ handles requests and responses of any kind; it must not know which clients may send them.',
    },
    gate: {
      imports: ['contract', 'http'],
      because: 'admin/gate/ authenticates clients and checks requests; it must not know the operations.',
    },
    api: {
      imports: ['contract', 'http'],
      because: 'admin/api/ serves programs; it must not know authentication or the pages.',
    },
    pages: {
      imports: ['contract', 'http'],
      because: 'admin/pages/ serves people; it must not know authentication or the API.',
    },
    '.': {
      imports: ['contract', 'http', 'gate', 'api', 'pages'],
      because: 'The files of admin/ itself assemble the server; begin at server.ts.',
    },
  },
  'admin/pages': {
    parts: {
      imports: [],
      because: 'admin/pages/parts/ is what pages are made of; it must not know any page.',
    },
    lists: {
      imports: ['parts'],
      because:
        'admin/pages/lists/ filters, sorts and turns the pages of any list; it must not know what is listed.',
    },
    sources: {
      imports: ['parts', 'lists'],
      because: 'admin/pages/sources/ shows polls and what they rejected; it must not know any lead or sink.',
    },
    deliveries: {
      imports: ['parts', 'lists', 'sources'],
      because:
        'admin/pages/deliveries/ lists deliveries and asks for replays; it must not know the pages of leads and sinks.',
    },
    leads: {
      imports: ['parts', 'lists', 'sources', 'deliveries'],
      because: 'admin/pages/leads/ finds and shows leads; it must not know the pages of sinks.',
    },
    sinks: {
      imports: ['parts', 'lists', 'deliveries', 'leads'],
      because: 'admin/pages/sinks/ shows sinks; it must not know the page on which problems stand.',
    },
    overview: {
      imports: ['parts', 'lists', 'sources', 'sinks'],
      because: 'admin/pages/overview/ shows what is wrong and links to it; no other page may depend on it.',
    },
    audit: {
      imports: ['parts', 'lists'],
      because: 'admin/pages/audit/ shows who did what; it must not know how it was done.',
    },
    '.': {
      imports: ['parts', 'lists', 'sources', 'deliveries', 'leads', 'sinks', 'overview', 'audit'],
      because:
        'The files of admin/pages/ itself are pages of one file each, and register.ts, which adds every page.',
    },
  },
};
