/** The words of generated leads. Everything here is invented; e-mail addresses use reserved domains. */

/** A name as its owner writes it, and in letters that an e-mail address may contain. */
export type Name = readonly [written: string, ascii: string];

/** A place where clients live, and the names that are common there. */
export interface Locale {
  readonly given: readonly Name[];
  readonly family: readonly Name[];
  readonly familyFirst?: boolean;
  readonly places: readonly string[];
  /** The country code with the start of a mobile number, and the number of digits that follow. */
  readonly phone: { readonly prefix: string; readonly digits: number };
  /** What such a client writes in answer to an open question. */
  readonly remarks: readonly string[];
}

export const locales: readonly Locale[] = [
  {
    given: [
      ['Olivia', 'olivia'],
      ['Liam', 'liam'],
      ['Siobhán', 'siobhan'],
      ['Jack', 'jack'],
      ['Zoë', 'zoe'],
    ],
    family: [
      ['Nguyen', 'nguyen'],
      ["O'Brien", 'obrien'],
      ['Smith-Jones', 'smith-jones'],
      ['Patel', 'patel'],
      ['Walker', 'walker'],
    ],
    places: [
      'Footscray, VIC, 3011',
      'Parramatta, NSW, 2150',
      'Fremantle, WA, 6160',
      'Unit 3/12 Kent St, Sydney, NSW, 2000',
    ],
    phone: { prefix: '+61 4', digits: 8 },
    remarks: [
      'Needs to be done before the in-laws arrive 😅\nWeekends are best.',
      "Please text first, I am at work until 5pm.\n\n-- don't call before 9",
      '=2 bedrooms, 1 bathroom; about 85 m² <no pets>',
      'Happy to get "ballpark" quotes first, then a visit. Budget is $1,500 & not a cent more.',
    ],
  },
  {
    given: [
      ['Jürgen', 'juergen'],
      ['Anneliese', 'anneliese'],
      ['Björn', 'bjoern'],
      ['Käthe', 'kaethe'],
      ['Tobias', 'tobias'],
    ],
    family: [
      ['Müller', 'mueller'],
      ['Weiß', 'weiss'],
      ['Schröder', 'schroeder'],
      ['von der Heide', 'vonderheide'],
      ['Köhler', 'koehler'],
    ],
    places: [
      'Straße des 17. Juni 135, 10623 Berlin',
      'Lübeck, Schleswig-Holstein, 23552',
      'Görlitz, Sachsen, 02826',
    ],
    phone: { prefix: '+49 151 ', digits: 8 },
    remarks: [
      'Bitte möglichst bald – die Übergabe ist am 1. des Monats.\r\nSchlüssel liegt bei Frau Weiß.',
      'Altbau, 4. Stock ohne Aufzug; ca. 70 m²',
      'Rückruf gern abends ab 18 Uhr. Danke schön!',
    ],
  },
  {
    given: [
      ['Małgorzata', 'malgorzata'],
      ['Łukasz', 'lukasz'],
      ['Zofia', 'zofia'],
      ['Grzegorz', 'grzegorz'],
    ],
    family: [
      ['Wójcik', 'wojcik'],
      ['Brzęczyszczykiewicz', 'brzeczyszczykiewicz'],
      ['Żak', 'zak'],
      ['Kowalska', 'kowalska'],
    ],
    places: ['ul. Świętojańska 5, 81-368 Gdynia', 'Łódź, łódzkie, 90-001', 'Wrocław, dolnośląskie, 50-101'],
    phone: { prefix: '+48 60', digits: 7 },
    remarks: [
      'Proszę o kontakt po południu.\nMieszkanie na drugim piętrze, brak windy.',
      'Zależy mi na terminie jeszcze w tym tygodniu – z góry dziękuję!',
    ],
  },
  {
    given: [
      ['小明', 'xiaoming'],
      ['美玲', 'meiling'],
      ['伟', 'wei'],
      ['思远', 'siyuan'],
    ],
    family: [
      ['王', 'wang'],
      ['李', 'li'],
      ['欧阳', 'ouyang'],
      ['张', 'zhang'],
    ],
    familyFirst: true,
    places: ['上海市浦东新区世纪大道100号, 200120', '北京市海淀区, 100080', 'Box Hill, VIC, 3128'],
    phone: { prefix: '+86 138 ', digits: 8 },
    remarks: ['请在工作日下午联系我。\n电话打不通的话可以发短信，谢谢🙏', '大约八十平方米，希望本周内完成。'],
  },
  {
    given: [
      ['محمد', 'mohammed'],
      ['فاطمة', 'fatima'],
      ['يوسف', 'youssef'],
      ['ليلى', 'layla'],
    ],
    family: [
      ['الهاشمي', 'alhashimi'],
      ['حداد', 'haddad'],
      ['منصور', 'mansour'],
    ],
    places: ['شارع الشيخ زايد، دبي', 'الرياض، حي العليا، 12211', 'عمّان، الأردن'],
    phone: { prefix: '+971 50 ', digits: 7 },
    remarks: [
      'يرجى الاتصال بعد الساعة الخامسة مساءً.\nشكراً جزيلاً 🌷',
      'الشقة في الطابق الثالث، حوالي ٩٠ متراً مربعاً.',
    ],
  },
];

export interface Question {
  readonly question: string;
  readonly slug: string;
  /** Fixed answers; if absent, the client writes a remark. */
  readonly answers?: readonly string[];
}

export interface ServiceCategory {
  readonly name: string;
  readonly slug: string;
  readonly questions: readonly Question[];
}

const when: Question = {
  question: 'When do you need this done?',
  slug: 'when_needed',
  answers: ['As soon as possible', 'Within the next few days', 'In the next month', "I'm flexible"],
};

const remark: Question = {
  question: 'Is there anything else the expert should know?',
  slug: 'anything_else',
};

export const serviceCategories: readonly ServiceCategory[] = [
  {
    name: 'House Cleaning',
    slug: 'house-cleaning',
    questions: [
      {
        question: 'How many bedrooms are there?',
        slug: 'bedrooms',
        answers: ['1', '2', '3', '4 or more', 'Studio / bedsit'],
      },
      {
        question: 'How often would you like the cleaning?',
        slug: 'frequency',
        answers: ['Once', 'Weekly', 'Fortnightly', 'Every 4 weeks'],
      },
      remark,
    ],
  },
  {
    name: 'Plumbing & Gas Fitting',
    slug: 'plumbing-gas-fitting',
    questions: [
      {
        question: "What's the problem?",
        slug: 'problem',
        answers: ['Blocked drain', 'Leaking tap, 1/2" fitting', 'No hot water', 'Burst pipe – urgent!'],
      },
      {
        question: 'What type of property is it?',
        slug: 'property_type',
        answers: ['House', 'Flat / apartment', 'Office', '"Other": houseboat'],
      },
      remark,
    ],
  },
  {
    name: 'Wedding Photography',
    slug: 'wedding-photography',
    questions: [
      {
        question: 'How many guests do you expect?',
        slug: 'guests',
        answers: ['Fewer than 50', '50–100', '100–200', '> 200'],
      },
      {
        question: 'Which parts of the day should be covered?',
        slug: 'coverage',
        answers: ['Ceremony', 'Ceremony, reception', 'Everything, from make-up to the last dance 💃'],
      },
      when,
    ],
  },
  {
    name: 'Umzug & Entrümpelung',
    slug: 'umzug-entruempelung',
    questions: [
      {
        question: 'Wie groß ist die Wohnung?',
        slug: 'wohnungsgroesse',
        answers: ['bis 40 m²', '40–70 m²', 'über 100 m²'],
      },
      {
        question: 'In welchem Stockwerk liegt sie?',
        slug: 'stockwerk',
        answers: ['Erdgeschoss', '-1 (Souterrain)', '+3, mit Aufzug', '5. OG, ohne Aufzug'],
      },
      remark,
    ],
  },
  {
    name: 'Personal Training',
    slug: 'personal-training',
    questions: [
      {
        question: 'What would you like to achieve?',
        slug: 'goal',
        answers: ['Get fitter', 'Lose weight', 'Recover from an injury\n(left knee)', '@home sessions only'],
      },
      {
        question: 'What would you like to achieve?',
        slug: 'goal',
        answers: ['Get stronger', 'Run 10 km', 'Sleep better'],
      },
      when,
      remark,
    ],
  },
];
