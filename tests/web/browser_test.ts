/** The dashboard in a real browser. One file, because each test file would start another browser. */
import "./browser/access.ts";
import "./browser/forms.ts";
import "./browser/hostile.ts";
import "./browser/incidents.ts";
import "./browser/lists.ts";
import "./browser/live.ts";
import "./browser/login.ts";
import "./browser/look.ts";
import "./browser/steps.ts";
import "./browser/untrusted.ts";
import "./browser/workers.ts";
