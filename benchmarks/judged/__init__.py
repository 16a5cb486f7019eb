"""What the rule drops of whole sites, against what readers said of its drops, and which words are lost.

    python -m benchmarks.judged DATA_FOLDER

DATA_FOLDER has a folder `judged_sites`: whole sites as files, and pairs that somebody has read.  Of 160 pages that an
early version dropped, **A** was right to drop, **B** arguable, **C** wrong; of 56 pairs that it kept, **M** is a missed
duplicate, **P** arguable, **N** two different pages.  Of each label the table says how many are dropped.

**Near** are the drops of pages of which no page kept has the same bytes or tokens; the columns after it are about these.
**Words lost** are in no run of four words of any page of the site that was kept.  Words that are lost with two pages
count twice.  Two tokens of kana are one word, and three of Thai, Lao, Khmer or Burmese.
"""
