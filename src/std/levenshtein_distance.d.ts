/** How many letters must change to make one text the other. */
export declare function levenshteinDistance(str1: string, str2: string): number;
