#!/usr/bin/env bash
# Builds the pages of docs/ as a site, with a reference of the headers: build/site/index.html. Links
# that lead nowhere fail the build. It is read, and searched, from the files or from any server,
# without network; building it takes packages from apt and pip. Arguments go to cmake.
extra_packages="doxygen python3-venv"
. "$(dirname "$0")/setup.sh" -DPLIMSOLL_CUDA=OFF "$@"

environment=build/docs_env
[ -x $environment/bin/mkdocs ] || {
  python3 -m venv $environment
  $environment/bin/pip install --quiet "mkdocs-material==9.*"
}

# A copy, so that what doxygen writes lies beside the pages and links to it can be checked.
pages=build/docs_pages
rm -rf $pages build/site
cp -r docs $pages
cp cmake/site/site.css cmake/site/frame_worker.js $pages
doxygen cmake/site/Doxyfile
NO_MKDOCS_2_WARNING=1 $environment/bin/mkdocs build --strict --config-file cmake/site/mkdocs.yml
echo "build/site/index.html"
