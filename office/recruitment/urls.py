"""Addresses of recruitment: what a panel sends people to, and a manager's pages of studies."""

from django.urls import path

from office.recruitment.views import arriving, prolific, studies

app_name = "recruitment"
ONE = "projects/<slug:slug>/studies/<int:study_id>"
urlpatterns = [
    path("study/finish/", arriving.study_finish, name="study-finish"),
    path("study/<str:token>/", arriving.study_enter, name="study-enter"),
    path("study/<str:token>/events/", studies.event_take, name="event-take"),
    path("projects/<slug:slug>/costs/", studies.cost_list, name="cost-list"),
    path("projects/<slug:slug>/costs/rates/", studies.rates_edit, name="rates-edit"),
    path("projects/<slug:slug>/studies/", studies.study_list, name="study-list"),
    path("projects/<slug:slug>/studies/new/", studies.study_create, name="study-create"),
    path("projects/<slug:slug>/studies/prolific/", prolific.token_edit, name="prolific-token"),
    path(f"{ONE}/prolific/", prolific.panel_show, name="panel-show"),
    path(f"{ONE}/prolific/check/", prolific.panel_check, name="panel-check"),
    path(f"{ONE}/prolific/<slug:action>/", prolific.panel_act, name="panel-act"),
    path(f"{ONE}/", studies.study_show, name="study-show"),
    path(f"{ONE}/edit/", studies.study_edit, name="study-edit"),
    path(f"{ONE}/time/", studies.time_export, name="time-export"),
    path(f"{ONE}/bonuses/", studies.bonus_export, name="bonus-export"),
]
