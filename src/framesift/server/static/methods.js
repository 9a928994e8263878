// The methods and text modes in plain words, shown where they are chosen.

const METHODS = {
  sift: "Frames whose words or picture match the question, spread over time.",
  gcr: "Frames of matching words and pictures, then frames that cover the rest of the video.",
  uniform: "Evenly spaced frames, whatever the question.",
  topk: "The frames whose picture matches best, even if they look alike.",
  mmr: "Frames that match the question and look different from each other.",
  "bin-max": "Cuts the video into equal parts and takes the best match of each.",
  aks: "Halves the video where some frames match much better, and takes the best of each part.",
  bolt: "More frames where the video matches, fewer elsewhere.",
  "q-frame": "A random draw in which better matches are more likely.",
  mdp3: "Goes through the video part by part for frames that match and differ from each other.",
  "wfs-sb": "Cuts the video where its content changes and takes different frames of each part.",
  qca: "Each part of the video gets frames by how well it matches and how much changes in it.",
  "adaptive-greedy": "One frame at a time: the one that matches and adds most to those before it.",
  omp: "One frame at a time: the one that shows most of what is left of the question.",
  lddr: "Frames that match the question and share little with each other.",
  text: "Frames at which the words match the question.",
  "vsi-lite": "Adds up how well the picture and the subtitles match.",
  focus: "Looks at a few frames first, then at more where those match.",
  "t-star": "Searches the frames for the things that the question names.",
  vsi: "Searches for the things that the question names, guided by subtitles.",
  "logic-in-frames": "Searches for the things that the question names and for how they belong together.",
  "q-gate": "Weighs things, pictures and subtitles by the kind of question.",
  tspo: "A trained network rates each frame beside its neighbours.",
  toolmerge: "A language model plans several searches; their results are merged.",
  himu: "A language model splits the question into conditions on pictures, things, speech and text.",
  dig: "A model looks for the useful parts; a general question gets evenly spaced frames.",
  videoagent: "A model reads what a few frames show and asks for those it misses.",
  videotree: "Groups similar frames and looks closer at the groups that a model finds relevant.",
  memorycard: "A model divides the video into sessions; their key frames are taken.",
};

export const TEXT_MODES = {
  aligned: "on its frame",
  none: "hidden",
  prompt: "as one block in the prompt",
  tagged: "per frame in the prompt",
  blank: "as an empty band (for comparison)",
  shuffled: "on a wrong frame (for comparison)",
};

/** What a method does, in one plain sentence; its summary if it comes from another package. */
export function methodSentence({ name, summary }) {
  const sentence = METHODS[name] ?? summary;
  return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}
