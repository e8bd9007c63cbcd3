// Takes the parts of the page that change from a new copy of it, while it is seen.
// Forms are not among them, so that nothing is lost in the middle of typing.
(function () {
  'use strict';
  const period = 5000;
  const pause = document.getElementById('pause');
  let paused = false;
  let failed = false;

  function mark(text) {
    const stamp = document.getElementById('stamp');
    if (stamp) stamp.textContent = text;
  }

  async function refresh() {
    if (document.hidden || paused) return;
    const abort = new AbortController();
    const limit = setTimeout(() => abort.abort(), 2 * period);
    try {
      const answer = await fetch(location.href, { cache: 'no-store', credentials: 'same-origin', signal: abort.signal });
      const copy = new DOMParser().parseFromString(await answer.text(), 'text/html');
      let any = false;
      for (const part of copy.querySelectorAll('[data-live]')) {
        const here = document.getElementById(part.id);
        if (here) {
          here.replaceWith(document.adoptNode(part));
          any = true;
        }
      }
      if (!any) throw new Error('not a page of the window');
      failed = false;
    } catch {
      failed = true;
    } finally {
      clearTimeout(limit);
      document.documentElement.classList.toggle('lost', failed);
      if (failed) mark('not reached');
    }
  }

  async function run() {
    await refresh();
    setTimeout(run, period);
  }

  if (pause) {
    pause.hidden = false;
    pause.addEventListener('click', function () {
      paused = !paused;
      pause.textContent = paused ? 'Resume' : 'Pause';
      pause.setAttribute('aria-pressed', String(paused));
    });
  }
  document.addEventListener('visibilitychange', refresh);
  setTimeout(run, period);
})();
