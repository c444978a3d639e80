// The script of every page. Every page can be read, and every action works, without scripts; only the charts need them.
(() => {
  const live = () => document.getElementById('live');
  const offline = document.getElementById('offline');
  let answeredAt = new Date();

  // Times: the server writes UTC; the script shows the reader's time zone and leaves UTC in the tooltip.

  const thisYear = String(answeredAt.getFullYear());
  const local = new Intl.DateTimeFormat('en-GB', {
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
  });

  function showLocalTimes(root) {
    for (const time of root.querySelectorAll('time[data-local]')) {
      const parts = local.formatToParts(new Date(time.dateTime));
      const of = (type) => parts.find((part) => part.type === type)?.value;
      const year = of('year') === thisYear ? '' : ` ${of('year')}`;
      time.textContent = `${of('day')} ${of('month')}${year} ${of('hour')}:${of('minute')}:${of('second')}`;
    }
  }

  // Filters: a date without a zone is in the reader's time zone; the address holds UTC and omits empty fields.

  const DATE = /^\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d)?)?$/;
  const two = (number) => String(number).padStart(2, '0');

  function prepareFilter(form) {
    for (const input of form.querySelectorAll('[data-moment]')) {
      const at = new Date(input.value);
      if (/^\d{4}-.*Z$/.test(input.value) && !Number.isNaN(at.getTime()))
        input.value = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}`;
      const hint = document.getElementById(`${input.id}-hint`);
      if (hint) hint.textContent = '90m, 2d or a date (your time)';
    }
    form.addEventListener('formdata', ({ formData }) => {
      for (const [name, value] of [...formData]) {
        const text = value.trim();
        if (text === '') formData.delete(name);
        else if (form.elements[name].dataset?.moment !== undefined && DATE.test(text))
          formData.set(name, new Date(text.length === 10 ? `${text} 00:00` : text).toISOString());
      }
    });
  }

  // Selecting rows: the checkbox for all, the number selected, and the buttons that need a selection.

  function showSelection() {
    const form = document.querySelector('[data-select]');
    if (!form) return;
    const boxes = [...form.querySelectorAll('td [type="checkbox"]')];
    const count = boxes.filter((box) => box.checked).length;
    for (const button of form.querySelectorAll('[data-needs-selection]')) button.disabled = count === 0;
    const words = form.querySelector('[data-selected]');
    if (words)
      words.textContent = count === 0 ? '' : `${count} selected. Updates pause while rows are selected.`;
    selectAllBox(form, boxes, count);
  }

  function selectAllBox(form, boxes, count) {
    const heading = form.querySelector('[data-select-all]');
    if (!heading || boxes.length === 0) return;
    let all = heading.querySelector('input');
    if (!all) {
      all = document.createElement('input');
      all.type = 'checkbox';
      all.setAttribute('aria-label', 'Select all rows shown');
      heading.replaceChildren(all);
    }
    all.checked = count === boxes.length;
    all.indeterminate = count > 0 && count < boxes.length;
  }

  document.addEventListener('change', ({ target }) => {
    const form = target.closest('[data-select]');
    if (!form) return;
    if (target.closest('th'))
      for (const box of form.querySelectorAll('td [type="checkbox"]')) box.checked = target.checked;
    showSelection();
  });

  // Live updates: only while the page is visible and nothing is selected. A banner appears when updates fail.

  function isLive({ ctx }) {
    return ctx?.sourceElement?.id === 'live';
  }

  document.addEventListener('htmx:before:request', (event) => {
    const isPaused = document.hidden || live()?.querySelector('td :checked');
    if (isLive(event.detail) && isPaused) event.preventDefault();
  });

  document.addEventListener('htmx:before:response', (event) => {
    const { redirected, status } = event.detail.ctx.response.raw;
    const isEnded = redirected || status === 401 || (status === 403 && isLive(event.detail));
    if (!isEnded) return;
    // The session has ended, or its person has lost the role. A reload shows the login page, or the reason.
    event.preventDefault();
    location.reload();
  });

  document.addEventListener('htmx:after:request', ({ detail }) => {
    if (!isLive(detail)) return;
    if (detail.ctx.response.status >= 500) return sayOffline('leadsync answers with an error.');
    answeredAt = new Date();
    offline.hidden = true;
  });

  document.addEventListener('htmx:error', ({ detail }) => {
    if (isLive(detail)) sayOffline('leadsync does not answer.');
    else if (detail.ctx) alert('leadsync does not answer, so nothing was done. Try again later.');
  });

  function sayOffline(what) {
    const words = `${what} This page shows the state at ${answeredAt.toLocaleTimeString('en-GB')} and tries to update every few seconds.`;
    // Changes the text only once, because a screen reader reads each change aloud.
    if (offline.hidden) offline.textContent = words;
    offline.hidden = false;
  }

  document.addEventListener('visibilitychange', () => {
    if (!document.hidden && live()) htmx.trigger(live(), 'shown');
  });

  document.addEventListener('htmx:before:swap', ({ detail }) => {
    // Must run before htmx compares the new rows with the old ones: unchanged rows keep the reader's selection.
    for (const { fragment } of detail.tasks) if (fragment) showLocalTimes(fragment);
  });

  document.addEventListener('htmx:after:swap', () => {
    showState();
    showSelection();
    showDialog();
  });

  function showState() {
    const address = document.getElementById('state')?.dataset.icon;
    const icon = document.getElementById('icon');
    if (address && icon.getAttribute('href') !== address) icon.setAttribute('href', address);
  }

  // Confirmations open in a dialog; Escape and Cancel change nothing.

  const dialog = document.getElementById('dialog');

  function showDialog() {
    if (dialog && !dialog.open && document.querySelector('#dialog-body > *')) dialog.showModal();
  }

  dialog?.addEventListener('click', (event) => {
    if (!event.target.closest('[data-close]')) return;
    event.preventDefault();
    dialog.close();
  });
  dialog?.addEventListener('close', () => document.getElementById('dialog-body').replaceChildren());

  // Prevents sending a form twice while the answer is slow.
  document.addEventListener('submit', ({ target, submitter }) => {
    if (target.method !== 'post' || !submitter || submitter.hasAttribute('hx-post')) return;
    // Deferred, because the browser does not send a disabled button.
    setTimeout(() => {
      submitter.disabled = true;
      submitter.textContent = 'Working…';
    });
  });

  // The theme: follows the system until the reader chooses one.

  const themes = ['system', 'light', 'dark'];
  const button = document.getElementById('theme');

  function showTheme() {
    const theme = document.documentElement.dataset.theme ?? 'system';
    button.textContent = `Theme: ${theme}`;
    return theme;
  }

  if (button) {
    button.hidden = false;
    showTheme();
    button.addEventListener('click', () => {
      const next = themes[(themes.indexOf(showTheme()) + 1) % themes.length];
      localStorage.setItem('theme', next);
      if (next === 'system') delete document.documentElement.dataset.theme;
      else document.documentElement.dataset.theme = next;
      showTheme();
      document.dispatchEvent(new Event('theme'));
    });
  }

  showLocalTimes(document);
  for (const form of document.querySelectorAll('[data-filter]')) prepareFilter(form);
  showSelection();
})();
