// Search runs in a worker. A browser starts none from a file, so a page that was opened as a file
// gets a stand-in: the script of the worker runs in a hidden frame, and messages are handed over.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.srcdoc = "<!doctype html><title>worker</title>";
      this.inside = new Promise(resolve => {
        frame.onload = () => {
          const inside = frame.contentWindow;
          const load = source => new Promise((done, failed) => {
            const script = inside.document.createElement("script");
            script.onload = done;
            script.onerror = failed;
            script.src = source;
            inside.document.head.append(script);
          });
          inside.importScripts = (...urls) => urls.reduce(
            (before, source) => before.then(() => load(source)), Promise.resolve());
          inside.postMessage = data => {
            const event = new MessageEvent("message", { data });
            this.dispatchEvent(event);
            if (this.onmessage) this.onmessage(event);
          };
          load(url).then(() => resolve(inside));
        };
      });
      document.body.append(frame);
    }
    postMessage(data) {
      this.inside.then(inside => inside.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() {}
  };
}
