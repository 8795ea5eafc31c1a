/**
 * Returns the anchor of a heading, as GitHub makes it. The site uses the same, so that links work in both places.
 *
 * @param {string} heading
 * @returns {string}
 */
export function slug(heading) {
  return heading.trim().toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, "").replace(/\s/g, "-");
}
